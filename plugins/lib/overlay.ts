import * as v from "valibot";
import { option } from "./options.ts";

const string = v.pipe(v.string(), v.minLength(1, "a string that is not empty"));
const variable = v.pipe(v.string(), v.regex(/^[A-Za-z_]\w*$/, "the name of a variable of the environment"));

/** Schema of the id of an adapter. */
export const adapterId = v.pipe(
  v.string(),
  v.regex(/^[a-z0-9-]+$/, "an id of small letters, digits and hyphens"),
);

/** Schema of facts about an adapter that its document or server does not tell. */
export const overlaySchema = v.strictObject({
  name: option(string, "Name of the API."),
  hosts: option(
    v.array(string),
    "Hosts of the API. An adapter of another id, whose document names one of them as its server or has the name as its title, gets these facts too, except for `envVar` and `idempotencyHeader`.",
  ),
  description: option(string, "Description of the API."),
  category: option(string, "Category of the API."),
  capabilities: option(v.array(string), "Capabilities of the API."),
  countries: option(v.array(string), "Countries that the API covers."),
  currencies: option(v.array(string), "Currencies that the API supports."),
  documentation: option(string, "URL of the documentation."),
  envVar: option(variable, "The environment variable that holds the credential."),
  commonOperations: option(v.array(string), "Ids or names of the tools that most users need."),
  errors: option(
    v.array(
      v.strictObject({
        code: v.pipe(string, v.description("Error code of the API.")),
        meaning: v.pipe(string, v.description("Meaning of the error.")),
        fix: v.pipe(string, v.description("How to fix the error.")),
      }),
    ),
    "Known errors of the API.",
  ),
  bestPractices: option(v.array(string), "Advice for calling the API."),
  webhooks: option(string, "Description of the webhooks of the API."),
  idempotencyHeader: option(
    v.pipe(v.string(), v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "the name of a header")),
    "The header in which requests that change something take an idempotency key, if the document declares none.",
  ),
});

/** Schema of overlays by adapter id. */
export const overlaysSchema = v.record(adapterId, overlaySchema);
