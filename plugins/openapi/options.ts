import * as v from "valibot";
import { option, wholeNumber } from "../lib/options.ts";
import { adapterId, overlaySchema, overlaysSchema } from "../lib/overlay.ts";

const string = v.pipe(v.string(), v.minLength(1, "a string that is not empty"));
const variable = v.pipe(v.string(), v.regex(/^[A-Za-z_]\w*$/, "the name of a variable of the environment"));
const count = wholeNumber(1);

const optionalString = (description: string) => option(string, description);
const optionalStrings = (description: string) => option(v.array(string), description);
const optionalVariable = (description: string) => option(variable, description);
const optionalRecord = (description: string) => option(v.record(v.string(), v.string()), description);

const credential = v.strictObject({
  type: option(
    v.picklist(["bearer", "basic", "apiKey", "oauth2", "none"]),
    "Kind of credential. By default the one of the document.",
  ),
  scheme: optionalString("The security scheme of the document that the credential is for."),
  env: optionalVariable("The environment variable that holds the token, the key, or `user:password`."),
  usernameEnv: optionalVariable("The environment variable that holds the user name."),
  passwordEnv: optionalVariable("The environment variable that holds the password."),
  in: option(v.picklist(["header", "query", "cookie"]), "Location of an API key, if the document has none."),
  name: optionalString("Name of the header, query parameter or cookie of an API key."),
  prefix: optionalString("Prefix of the value, such as `Token `."),
  clientIdEnv: optionalVariable("The environment variable that holds the OAuth client id."),
  clientSecretEnv: optionalVariable("The environment variable that holds the OAuth client secret."),
  tokenUrl: optionalString("URL that issues OAuth tokens, if the document has none."),
  scopes: optionalStrings("OAuth scopes to ask for. By default those of the document."),
  audience: optionalString("OAuth audience to ask for."),
});

const adapter = v.strictObject({
  document: v.pipe(string, v.description("URL of the document, or its path relative to the config file.")),
  auth: option(
    v.union([credential, v.array(credential)]),
    "Credentials of the API, from environment variables.",
  ),
  server: option(
    v.pipe(v.string(), v.regex(/^https?:\/\//i, "an address that begins with http")),
    "Server of all requests, in place of the one of the document.",
  ),
  origins: optionalStrings(
    "Origins that requests and credentials may be sent to, such as `https://api.example.com`. By default those that the document named when it was first used.",
  ),
  serverVariables: optionalRecord("Values of the variables in the URL of the server."),
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is what users write.
  headers: optionalRecord("Headers of every request; `${NAME}` stands for an environment variable."),
  allowPrivate: option(
    v.boolean(),
    "Whether the API may have an address of this machine or of a private network.",
  ),
  timeoutMs: option(count, "Timeout of a request in milliseconds, if no plugin limits calls.", 30_000),
  maxBytes: option(count, "Largest response after decompression, in bytes.", 10_000_000),
  overlay: option(overlaySchema, "Facts about the API beyond its document."),
});

/** Schema of the options of the plugin `openapi`. */
export const openapiOptions = v.strictObject({
  adapters: option(
    v.record(adapterId, adapter),
    "REST APIs by id, which is the server in every tool id.",
    {},
  ),
  overlays: option(overlaysSchema, "Facts about APIs by id. Those in `adapters` take precedence.", {}),
});

/** Credential of an API, from environment variables. */
export type Credential = v.InferOutput<typeof credential>;

/** Options of one API. */
export type AdapterOptions = v.InferInput<typeof adapter>;

/** Options of one API with their defaults. */
export type AdapterSettings = v.InferOutput<typeof adapter>;

/** Options of the plugin `openapi`. */
export type OpenApiOptions = v.InferInput<typeof openapiOptions>;
