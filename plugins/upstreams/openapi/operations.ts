import {
  isJsonObject,
  type JsonObject,
  type ToolAnnotations,
  type ToolDefinition,
} from "../../../core/mod.ts";
import { argumentsOf } from "./arguments.ts";
import { bodyOf } from "./body.ts";
import {
  entriesOf,
  type FoundOperation,
  follow,
  type OpenApiDocument,
  operationsOf,
  plainText,
  textOf,
} from "./document.ts";
import { toolNames } from "./names.ts";
import type { AuthType, Operation, OperationError } from "./operation.ts";
import { type Parameter, parametersOf, rawParameters } from "./parameters.ts";
import type { Plan } from "./plan.ts";
import { createSchemas, type Schemas } from "./schema.ts";
import { securityOf } from "./security.ts";
import { acceptOf, serverOf } from "./servers.ts";

/** An operation that is ready to be listed and called. */
export interface BuiltOperation {
  readonly definition: ToolDefinition;
  readonly operation: Operation;
  readonly tags: readonly string[];
  readonly plan: Plan;
}

/** What the config says of the operations of a document. */
export interface BuildOptions {
  /** How requests are authorised where the document does not say so. */
  readonly auth?: AuthType | undefined;
  /** The header in which requests that change something take a key, where the document does not say so. */
  readonly idempotencyHeader?: string | undefined;
}

const READING = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);
const LONGEST_DESCRIPTION = 1_000;
const MAX_ERRORS = 20;

/** Every operation of a document. One that cannot be understood does not cost the others. */
export function buildOperations(
  document: OpenApiDocument,
  options: BuildOptions,
  onFault: (place: string, thrown: unknown) => void,
): BuiltOperation[] {
  const found = operationsOf(document);
  const names = toolNames(found);
  const schemas = createSchemas(document);
  return found.flatMap((one, index) => {
    try {
      return [build(document, one, names[index] as string, schemas, options)];
    } catch (thrown) {
      onFault(`${one.method} ${one.path}`, thrown);
      return [];
    }
  });
}

function build(
  document: OpenApiDocument,
  found: FoundOperation,
  name: string,
  schemas: Schemas,
  options: BuildOptions,
): BuiltOperation {
  const { method, path, operation } = found;
  const raw = rawParameters(document, found);
  const security = securityOf(document, found);
  const keys = (security ?? []).flat().filter(({ type }) => type === "apiKey");
  // What proves who calls comes from the environment, so it is no argument, even where it is listed as a parameter.
  const parameters = parametersOf(document, found, raw).filter(
    ({ place, name: wire }) => !keys.some((scheme) => scheme.in === place && scheme.key === wire),
  );
  const idempotencyHeader =
    keyHeader(parameters) ?? (READING.has(method) ? undefined : options.idempotencyHeader);
  const body = bodyOf(document, found, raw);
  const { inputSchema, examples, ...planned } = argumentsOf(parameters, body, schemas, idempotencyHeader);
  const tags = Array.isArray(operation["tags"])
    ? operation["tags"].filter((tag) => typeof tag === "string")
    : [];
  const isDeprecated = operation["deprecated"] === true;
  return {
    definition: {
      name,
      title: plainText(operation["summary"], 120),
      description: descriptionOf(found, isDeprecated),
      inputSchema,
      annotations: annotationsOf(method),
    },
    tags: [...new Set(tags.map((tag) => tag.trim().toLowerCase()).filter((tag) => tag !== ""))],
    operation: {
      method,
      path,
      category: tags[0],
      auth: security === undefined ? (options.auth ?? "none") : (security[0]?.[0]?.type ?? "none"),
      examples,
      errors: errorsOf(document, operation),
      idempotencyHeader,
      deprecated: isDeprecated,
    },
    plan: {
      method,
      path,
      ...planned,
      ...serverOf(document, found),
      security,
      idempotencyHeader,
      accept: acceptOf(document, operation),
    },
  };
}

function keyHeader(parameters: readonly Parameter[]): string | undefined {
  return parameters.find(({ place, name }) => place === "header" && /idempotency/i.test(name))?.name;
}

function descriptionOf({ operation, method, path }: FoundOperation, isDeprecated: boolean): string {
  const summary = plainText(operation["summary"], 200);
  const description = plainText(operation["description"], LONGEST_DESCRIPTION);
  const isRepeated = summary !== undefined && description?.toLowerCase().startsWith(summary.toLowerCase());
  const parts = [isRepeated ? undefined : summary, description].filter((part) => part !== undefined);
  const text = parts.map((part) => (/[.!?…]$/.test(part) ? part : `${part}.`)).join(" ");
  return `${isDeprecated ? "Deprecated. " : ""}${text || `${method} ${path}`}`;
}

function annotationsOf(method: string): ToolAnnotations {
  const readOnlyHint = READING.has(method);
  return {
    readOnlyHint,
    destructiveHint: method === "DELETE",
    idempotentHint: readOnlyHint || method === "PUT" || method === "DELETE",
    openWorldHint: true,
  };
}

function errorsOf({ root }: OpenApiDocument, operation: JsonObject): OperationError[] {
  return entriesOf(operation["responses"])
    .flatMap(([status, given]): OperationError[] => {
      const response = follow(root, given);
      if (!/^([45][0-9X]{2}|default)$/i.test(status) || !isJsonObject(response)) return [];
      const meaning = plainText(response["description"], 200) ?? textOf(response["summary"]);
      return meaning === undefined ? [] : [{ status, meaning }];
    })
    .slice(0, MAX_ERRORS);
}
