import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { assemble } from "./assemble.ts";
import type { Body } from "./body.ts";
import { plainText } from "./document.ts";
import { argumentNames } from "./names.ts";
import type { OperationParameter } from "./parameters.ts";
import type { PlannedBody, PlannedField, PlannedParameter } from "./plan.ts";
import type { Schemas } from "./schema.ts";

/** Arguments of an operation, and their way into a request. */
export interface Arguments {
  readonly inputSchema: JsonObject;
  readonly parameters: readonly PlannedParameter[];
  readonly body?: PlannedBody | undefined;
  /** Arguments that the document gives as an example, if they are enough for a call. */
  readonly examples: readonly JsonObject[];
}

const LARGEST_EXAMPLE = 4_000;

/** Puts parameters and body into one flat object. Of two that have one name, the later one gets another. */
export function buildArguments(
  parameters: readonly OperationParameter[],
  body: Body | undefined,
  schemas: Schemas,
  idempotencyHeader: string | undefined,
): Arguments {
  const nameOf = argumentNames();
  const properties: JsonObject = {};
  const required: string[] = [];
  const example: JsonObject = {};
  const planned = parameters.map((parameter): PlannedParameter => {
    const { name, place, style, explode, allowReserved, json, schema, description } = parameter;
    const argument = nameOf(name, place);
    properties[argument] = { ...schemas.convert(schema), ...describeArgument(description) };
    // Its value comes with the request of the call; it may be given here too.
    const isKey = place === "header" && name === idempotencyHeader;
    if (parameter.required && !isKey) required.push(argument);
    const told = parameter.example ?? schemas.exampleOf(schema);
    if (told !== undefined) example[argument] = told;
    return { argument, name, place, style, explode, allowReserved, json };
  });
  const plannedBody = body && planBody(body);
  const isEnough = required.every((name) => Object.hasOwn(example, name)) && Object.keys(example).length > 0;
  const isShort = isEnough && JSON.stringify(example).length <= LARGEST_EXAMPLE;
  return {
    inputSchema: assemble(
      {
        type: "object",
        properties,
        ...(required.length > 0 && { required }),
        additionalProperties: false,
      },
      schemas,
    ),
    parameters: planned,
    body: plannedBody,
    examples: isShort ? [example] : [],
  };

  function planBody(given: Body): PlannedBody {
    const { kind, contentType, isFile } = given;
    const common = { kind, contentType, required: given.required, isFile };
    if (!given.fields) {
      const whole = nameOf("body", "body");
      const schema = isFile ? { type: "string", contentEncoding: "base64" } : schemas.convert(given.schema);
      // Without a schema it may still be only text that is sent as it is.
      const known = kind === "raw" && Object.keys(schema).length === 0 ? { type: "string" } : schema;
      properties[whole] = { ...known, ...describeArgument(given.description) };
      if (given.required) required.push(whole);
      const told = given.example ?? schemas.exampleOf(given.schema);
      if (told !== undefined) example[whole] = told;
      return { ...common, whole };
    }
    const told = given.example ?? schemas.exampleOf(given.schema);
    const fields = given.fields.map((field): PlannedField => {
      const argument = nameOf(field.name, "body");
      properties[argument] = schemas.convert(field.schema);
      // Where there need not be a body at all, nothing of it is required.
      if (field.required && given.required) required.push(argument);
      const said = isJsonObject(told) && Object.hasOwn(told, field.name) ? told[field.name] : undefined;
      const value = said ?? schemas.exampleOf(field.schema);
      if (value !== undefined && value !== null) example[argument] = value;
      const { name, writing, contentType: type } = field;
      return { argument, name, writing, contentType: type, isFile: field.isFile };
    });
    if (given.others === undefined) return { ...common, fields };
    const others = nameOf("additional_fields", "body");
    properties[others] = {
      type: "object",
      description: "Further fields of the request body.",
      additionalProperties: given.others === true ? true : schemas.convert(given.others),
    };
    return { ...common, fields, others };
  }
}

function describeArgument(text: string | undefined): JsonObject {
  const description = plainText(text, 300);
  return description === undefined ? {} : { description };
}
