import { isJsonObject, type JsonObject, type ToolAnnotations, type ToolDefinition } from "../../core/mod.ts";
import type { AuthType, Operation, OperationError } from "../../core/services/adapters.ts";
import { canonicalJson, sha256Hex } from "../lib/hash.ts";
import { buildArguments, type Plan } from "./arguments.ts";
import { parseBody } from "./body.ts";
import {
  type FoundOperation,
  findExample,
  follow,
  listOperations,
  type OpenApiDocument,
  plainText,
  toEntries,
  toText,
} from "./document.ts";
import { createToolNames } from "./names.ts";
import { listParameters, type OperationParameter, rawParameters } from "./parameters.ts";
import { createSchemas, type Schemas } from "./schema.ts";
import { readSecurity } from "./security.ts";
import { findServer, toAccept } from "./servers.ts";

/** An operation that is ready to be listed and called. */
export interface BuiltOperation {
  readonly definition: ToolDefinition;
  readonly operation: Operation;
  readonly tags: readonly string[];
  readonly plan: Plan;
}

interface BuildOptions {
  /** Authorization of requests if the document has none. */
  readonly auth?: AuthType | undefined;
  /** Header of the idempotency key if the document declares none. */
  readonly idempotencyHeader?: string | undefined;
}

const READING = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);
const LONGEST_DESCRIPTION = 1_000;
const MAX_ERRORS = 20;
/** Characters of the longest answer that is kept as an example. */
const MAX_ANSWER = 1_000;

/** Builds all operations of a document. A faulty one does not affect the others. */
export function buildOperations(
  document: OpenApiDocument,
  options: BuildOptions,
  onFault: (place: string, thrown: unknown) => void,
): BuiltOperation[] {
  const found = listOperations(document);
  const names = createToolNames(found);
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
  const security = readSecurity(document, found);
  const keys = (security ?? []).flat().filter(({ type }) => type === "apiKey");
  // Credentials come from the environment, so they are no arguments, even if they are declared as parameters.
  const parameters = listParameters(document, found, raw).filter(
    ({ place, name: wire }) => !keys.some((scheme) => scheme.in === place && scheme.key === wire),
  );
  const idempotencyHeader =
    findKeyHeader(parameters) ?? (READING.has(method) ? undefined : options.idempotencyHeader);
  const body = parseBody(document, found, raw);
  const server = findServer(document, found);
  const { inputSchema, examples, ...planned } = buildArguments(parameters, body, schemas, idempotencyHeader);
  const tags = Array.isArray(operation["tags"])
    ? operation["tags"].filter((tag) => typeof tag === "string")
    : [];
  const isDeprecated = operation["deprecated"] === true;
  return {
    definition: {
      name,
      title: plainText(operation["summary"], 120),
      description: describeOperation(found, isDeprecated),
      inputSchema,
      annotations: toAnnotations(method),
    },
    tags: [...new Set(tags.map((tag) => tag.trim().toLowerCase()).filter((tag) => tag !== ""))],
    operation: {
      method,
      path,
      category: tags[0],
      auth: security === undefined ? (options.auth ?? "none") : (security[0]?.[0]?.type ?? "none"),
      examples,
      ...findAnswer(document, operation),
      errors: listErrors(document, operation),
      idempotencyHeader,
      canResend: idempotencyHeader !== undefined && options.idempotencyHeader !== undefined,
      deprecated: isDeprecated,
      contract: sha256Hex(canonicalJson({ method, path, ...server, security: security ?? null })),
    },
    plan: {
      method,
      path,
      ...planned,
      ...server,
      security,
      idempotencyHeader,
      accept: toAccept(document, operation),
    },
  };
}

function findKeyHeader(parameters: readonly OperationParameter[]): string | undefined {
  return parameters.find(({ place, name }) => place === "header" && /idempotency/i.test(name))?.name;
}

function describeOperation({ operation, method, path }: FoundOperation, isDeprecated: boolean): string {
  const summary = plainText(operation["summary"], 200);
  const description = plainText(operation["description"], LONGEST_DESCRIPTION);
  const isRepeated = summary !== undefined && description?.toLowerCase().startsWith(summary.toLowerCase());
  const parts = [isRepeated ? undefined : summary, description].filter((part) => part !== undefined);
  const text = parts.map((part) => (/[.!?…]$/.test(part) ? part : `${part}.`)).join(" ");
  return `${isDeprecated ? "Deprecated. " : ""}${text || `${method} ${path}`}`;
}

function toAnnotations(method: string): ToolAnnotations {
  const readOnlyHint = READING.has(method);
  return {
    readOnlyHint,
    destructiveHint: method === "DELETE",
    idempotentHint: readOnlyHint || method === "PUT" || method === "DELETE",
    openWorldHint: true,
  };
}

/** Finds the example of a successful answer. A long one would only cost an agent tokens. */
function findAnswer({ root }: OpenApiDocument, operation: JsonObject): Pick<Operation, "exampleAnswer"> {
  for (const [status, given] of toEntries(operation["responses"])) {
    const response = follow(root, given);
    if (!/^2/.test(status) || !isJsonObject(response)) continue;
    // Swagger 2.0 has the examples by media type, and the schema beside them.
    const media = [
      ...toEntries(response["content"]).map(([, value]) => value),
      ...toEntries(response["examples"]).map(([, example]) => ({ example })),
      ...(isJsonObject(response["schema"]) ? [response] : []),
    ];
    for (const one of media) {
      const own = findExample(root, one).example;
      const example = own ?? (isJsonObject(one) ? findExample(root, one["schema"]).example : undefined);
      if (isJsonObject(example) && JSON.stringify(example).length <= MAX_ANSWER) {
        return { exampleAnswer: example };
      }
    }
  }
  return {};
}

function listErrors({ root }: OpenApiDocument, operation: JsonObject): OperationError[] {
  return toEntries(operation["responses"])
    .flatMap(([status, given]): OperationError[] => {
      const response = follow(root, given);
      if (!/^([45][0-9X]{2}|default)$/i.test(status) || !isJsonObject(response)) return [];
      const meaning = plainText(response["description"], 200) ?? toText(response["summary"]);
      return meaning === undefined ? [] : [{ status, meaning }];
    })
    .slice(0, MAX_ERRORS);
}
