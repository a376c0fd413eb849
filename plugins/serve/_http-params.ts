import type { IncomingHttpHeaders } from "node:http";
import { type Catalog, type Gateway, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { decoded, headerOf, type Message } from "./_http-era.ts";
import { mismatch } from "./_http-refusal.ts";
import type { Front, ShownTool } from "./front.ts";

/** An argument that a client also sends as a header. */
interface MirroredParam {
  /** The name of the header, in small letters. */
  readonly header: string;
  readonly path: readonly string[];
}

const MAX_DEPTH = 32;
const DECIMAL = /^-?\d+(\.\d+)?$/;

/** What is known of the tools of one revision. */
interface Mirrored {
  readonly catalog: Catalog;
  readonly revision: number;
  readonly byTool: ReadonlyMap<string, readonly MirroredParam[]>;
}

/** Makes what refuses a message whose headers do not say what its arguments say. */
export function createParamCheck(
  gateway: () => Gateway,
  front: Pick<Front, "list">,
): (message: Message, headers: IncomingHttpHeaders) => void {
  let mirrored: Mirrored | undefined;
  return ({ method, params }, headers) => {
    if (method !== "tools/call" || !isJsonObject(params)) return;
    const { catalog } = gateway();
    if (mirrored?.catalog !== catalog || mirrored.revision !== catalog.revision) {
      mirrored = { catalog, revision: catalog.revision, byTool: mirroredParams(front.list()) };
    }
    checkParams(mirrored.byTool.get(String(params["name"])) ?? [], params["arguments"], headers);
  };
}

/** Which arguments of which tools are also sent as headers. */
function mirroredParams(tools: readonly ShownTool[]): ReadonlyMap<string, readonly MirroredParam[]> {
  const byTool = new Map<string, readonly MirroredParam[]>();
  for (const { name, inputSchema } of tools) {
    const found = [...find(inputSchema, [])];
    if (found.length > 0) byTool.set(name, found);
  }
  return byTool;
}

function* find(schema: unknown, path: readonly string[]): Generator<MirroredParam> {
  if (!isJsonObject(schema) || path.length > MAX_DEPTH) return;
  const name = schema["x-mcp-header"];
  if (typeof name === "string" && path.length > 0) {
    yield { header: `mcp-param-${name.toLowerCase()}`, path };
  }
  const { properties } = schema;
  if (!isJsonObject(properties)) return;
  for (const [key, inner] of Object.entries(properties)) yield* find(inner, [...path, key]);
}

function checkParams(params: readonly MirroredParam[], args: unknown, headers: IncomingHttpHeaders): void {
  for (const { header, path } of params) {
    const value = path.reduce<unknown>(
      (at, key) => (isJsonObject(at) && Object.hasOwn(at, key) ? (at as JsonObject)[key] : undefined),
      args,
    );
    // Anything else is a wrong argument, which is told apart where arguments are checked.
    if (typeof value !== "string" && typeof value !== "boolean" && !Number.isSafeInteger(value)) continue;
    const sent = headerOf(headers, header);
    if (sent === undefined) throw mismatch(`The header ${header} is missing.`);
    const text = decoded(sent);
    if (text === undefined) throw mismatch(`The header ${header} is encoded wrongly.`);
    const isSame =
      typeof value === "number" && DECIMAL.test(text) ? Number(text) === value : text === String(value);
    if (!isSame) throw mismatch(`The header ${header} holds another value than the message.`);
  }
}
