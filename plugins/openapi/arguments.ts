import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { addDefinitions } from "./assemble.ts";
import type { Body, BodyField } from "./body.ts";
import { plainText } from "./document.ts";
import { createArgumentNames } from "./names.ts";
import type { OperationParameter, ParameterEncoding } from "./parameters.ts";
import type { Schemas } from "./schema.ts";
import type { Alternative } from "./security.ts";

/** An argument that is a parameter. */
interface PlannedParameter extends ParameterEncoding {
  /** Name of the argument. */
  readonly argument: string;
  /** Name in the API. */
  readonly name: string;
  readonly place: OperationParameter["place"];
}

/** An argument that is a property of the body. */
export interface PlannedField extends Omit<BodyField, "required" | "schema"> {
  readonly argument: string;
}

/** Mapping of arguments to the body of a request. */
export interface PlannedBody extends Pick<Body, "kind" | "contentType" | "required" | "isFile"> {
  readonly fields?: readonly PlannedField[] | undefined;
  /** The argument whose properties are added to those of the fields. */
  readonly others?: string | undefined;
  /** The argument that is the whole body, if there are no fields. */
  readonly whole?: string | undefined;
}

/** Mapping of arguments to a request, with the names of the API. */
export interface Plan {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly PlannedParameter[];
  readonly body?: PlannedBody | undefined;
  /** URL of the server, which may be relative and hold variables in braces. */
  readonly server: string;
  /** Default values of the variables in the address. */
  readonly serverVariables: Readonly<Record<string, string>>;
  /** Alternative security requirements; undefined if the document declares none. */
  readonly security: readonly Alternative[] | undefined;
  readonly idempotencyHeader?: string | undefined;
  /** The value of the `accept` header. */
  readonly accept: string;
}

/** Arguments of an operation, and their mapping to a request. */
interface Arguments {
  readonly inputSchema: JsonObject;
  readonly parameters: readonly PlannedParameter[];
  readonly body?: PlannedBody | undefined;
  /** Arguments that the document gives as an example, if they are enough for a call. */
  readonly examples: readonly JsonObject[];
}

const LARGEST_EXAMPLE = 4_000;

/** Flattens parameters and body into one object. Of two arguments with the same name, the later one is renamed. */
export function buildArguments(
  parameters: readonly OperationParameter[],
  body: Body | undefined,
  schemas: Schemas,
  idempotencyHeader: string | undefined,
): Arguments {
  const toName = createArgumentNames();
  const properties: JsonObject = {};
  const required: string[] = [];
  const example: JsonObject = {};
  const planned = parameters.map((parameter): PlannedParameter => {
    const { name, place, style, explode, allowReserved, json, schema, description } = parameter;
    const argument = toName(name, place);
    properties[argument] = { ...schemas.convert(schema), ...describeArgument(description) };
    // The idempotency key comes with the call; it may be an argument too.
    const isKey = place === "header" && name === idempotencyHeader;
    if (parameter.required && !isKey) required.push(argument);
    const documented = parameter.example ?? schemas.findExample(schema);
    if (documented !== undefined) example[argument] = documented;
    return { argument, name, place, style, explode, allowReserved, json };
  });
  const plannedBody = body && planBody(body);
  const isEnough = required.every((name) => Object.hasOwn(example, name)) && Object.keys(example).length > 0;
  const isShort = isEnough && JSON.stringify(example).length <= LARGEST_EXAMPLE;
  return {
    inputSchema: addDefinitions(
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
      const whole = toName("body", "body");
      const schema = isFile ? { type: "string", contentEncoding: "base64" } : schemas.convert(given.schema);
      // Without a schema, a raw body is a string that is sent as it is.
      const known = kind === "raw" && Object.keys(schema).length === 0 ? { type: "string" } : schema;
      properties[whole] = { ...known, ...describeArgument(given.description) };
      if (given.required) required.push(whole);
      const documented = given.example ?? schemas.findExample(given.schema);
      if (documented !== undefined) example[whole] = documented;
      return { ...common, whole };
    }
    const documented = given.example ?? schemas.findExample(given.schema);
    const fields = given.fields.map((field): PlannedField => {
      const argument = toName(field.name, "body");
      properties[argument] = schemas.convert(field.schema);
      // If the body is optional, so are its fields.
      if (field.required && given.required) required.push(argument);
      const said =
        isJsonObject(documented) && Object.hasOwn(documented, field.name)
          ? documented[field.name]
          : undefined;
      const value = said ?? schemas.findExample(field.schema);
      if (value !== undefined && value !== null) example[argument] = value;
      const { name, encoding, contentType: type } = field;
      return { argument, name, encoding, contentType: type, isFile: field.isFile };
    });
    if (given.others === undefined) return { ...common, fields };
    const others = toName("additional_fields", "body");
    properties[others] = {
      type: "object",
      description: "Further fields of the request body.",
      additionalProperties: given.others === true ? true : schemas.convert(given.others),
    };
    return { ...common, fields, others };
  }
}

function describeArgument(given: string | undefined): JsonObject {
  const description = plainText(given, 300);
  return description === undefined ? {} : { description };
}
