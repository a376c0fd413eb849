import * as v from "valibot";
import { LONGEST_TIMER_MS } from "../../../core/hooks.ts";
import { checkJson, GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import {
  type Connection,
  type Dialect,
  getObject,
  type Origin,
  type RawEntry,
  type ServerConfig,
} from "../../../core/services/sources.ts";
import { trueOrFalse } from "../options.ts";
import { EntryError, parseConnection, readStrings } from "./connection.ts";

/** Normalized server, or the reason why an entry cannot be used. */
export type NormalizedEntry =
  | { readonly config: ServerConfig; readonly reason?: undefined }
  | { readonly config?: undefined; readonly reason: string };

/** Context of an entry in its file. */
export interface NormalizeEntryOptions {
  readonly dialect?: Dialect | undefined;
  readonly inputs?: unknown;
}

/** No honest entry is larger, and entries are hashed and printed later. */
const LIMITS = { depth: 32, size: 1_000_000 };
const LONGEST_DESCRIPTION = 2_000;

/** Turns one entry in any dialect into the one form for all. Never throws, and no reason quotes a value. */
export function normalizeEntry(
  raw: RawEntry,
  origin: Origin,
  options: NormalizeEntryOptions = {},
): NormalizedEntry {
  try {
    if (raw.reason !== undefined) return { reason: raw.reason };
    return { config: build(raw, origin, options) };
  } catch (thrown) {
    if (thrown instanceof EntryError) return { reason: thrown.message };
    if (!GatewayError.is(thrown)) return { reason: "it cannot be read" };
    const reasons: Readonly<Record<string, string>> = {
      ARGUMENTS_TOO_LARGE: "it is too large",
      ARGUMENTS_TOO_DEEP: "it is nested too deeply",
      FORBIDDEN_KEY: "it holds a key that is not allowed",
    };
    return { reason: reasons[thrown.code] ?? "it holds a value that is not plain data" };
  }
}

function build(
  { name: given, entry }: RawEntry,
  origin: Origin,
  options: NormalizeEntryOptions,
): ServerConfig {
  const name = normalizeServerName(given);
  if (name === undefined)
    throw new EntryError(given === undefined ? "it has no name" : "its name cannot be used");
  if (!isJsonObject(entry)) throw new EntryError("it is not an object");
  checkJson(entry, LIMITS);
  const { dialect = {} } = options;
  // Some dialects keep the connection in an object of its own.
  const fields: JsonObject = {
    ...entry,
    ...getObject(entry["transport"]),
    ...getObject(entry["connection"]),
  };
  // A driver may be a module, and no file that others write may name code to run.
  if (origin.scope !== "config" && fields["driver"] !== undefined)
    throw new EntryError("it names a driver, which only the config of toolpipe may");
  const connection = parseConnection(fields, dialect);
  const { description, title, declaredTools } = fields;
  return {
    name,
    title: typeof title === "string" && title !== "" ? title.slice(0, LONGEST) : undefined,
    description: typeof description === "string" ? description.slice(0, LONGEST_DESCRIPTION) : undefined,
    connection,
    disabled: readSwitch(fields, "disabled") === true || readSwitch(fields, "enabled") === false || undefined,
    tools: readToolFilter(fields),
    declaredTools: readDeclaredTools(declaredTools),
    ...readTimeouts(fields, dialect),
    inputs: readInputs(connection, options.inputs ?? fields["inputs"]),
    origin,
  };
}

function readSwitch(fields: JsonObject, key: string): boolean | undefined {
  const parsed = v.safeParse(v.optional(trueOrFalse), fields[key]);
  if (parsed.success) return parsed.output;
  throw new EntryError(`its "${key}" is neither true nor false`);
}

/** Reads tools that a file describes, for a server that has not been asked yet. Those without a name are left out. */
function readDeclaredTools(given: unknown): ServerConfig["declaredTools"] {
  if (!Array.isArray(given)) return undefined;
  const tools = given.filter(isJsonObject).flatMap(({ name, description }) =>
    typeof name === "string" && name !== ""
      ? [
          {
            name,
            description: typeof description === "string" ? description.slice(0, LONGEST_DESCRIPTION) : "",
          },
        ]
      : [],
  );
  return tools.length > 0 ? tools : undefined;
}

function readTimeouts(
  fields: JsonObject,
  { timeout }: Dialect,
): Pick<ServerConfig, "startTimeoutMs" | "callTimeoutMs"> {
  const bare = fields["timeout"];
  const first = (...candidates: readonly (readonly [unknown, number])[]): number | undefined => {
    for (const [value, factor] of candidates) {
      if (typeof value === "number" && value > 0)
        return Math.min(Math.ceil(value * factor), LONGEST_TIMER_MS);
    }
  };
  return {
    startTimeoutMs: first(
      [fields["startTimeoutMs"], 1],
      [fields["startup_timeout_ms"], 1],
      [fields["startup_timeout_sec"], 1_000],
      [fields["connectionTimeout"], 1],
      [timeout === "start-ms" ? bare : undefined, 1],
    ),
    callTimeoutMs: first(
      [fields["callTimeoutMs"], 1],
      [fields["tool_timeout_sec"], 1_000],
      [timeout === "call-ms" ? bare : undefined, 1],
      [timeout === "call-s" ? bare : undefined, 1_000],
    ),
  };
}

/** Selects the inputs of a file that this server needs. */
function readInputs(connection: Connection, given: unknown): ServerConfig["inputs"] {
  const used = new Set(
    [...JSON.stringify(connection).matchAll(/\$\{input:([^{}"\\]+)\}/g)].map((match) => match[1]),
  );
  if (used.size === 0) return undefined;
  const asked = (Array.isArray(given) ? given : []).filter(isJsonObject);
  return Object.fromEntries(
    [...used].map((id) => {
      const input = asked.find((candidate) => candidate["id"] === id);
      const description = input?.["description"];
      return [
        id,
        {
          description: typeof description === "string" ? description.slice(0, LONGEST_DESCRIPTION) : "",
          password: input?.["password"] === true,
        },
      ];
    }),
  );
}

const includes = ["includeTools", "include_tools", "enabledTools", "enabled_tools", "available_tools"];
const excludes = ["excludeTools", "exclude_tools", "disabledTools", "disabled_tools"];

/**
 * Reads which tools an entry allows or forbids. Approvals in advance (`autoApprove`, `alwaysAllow`, `trust`) are
 * ignored: they were meant for the prompts of that client and are no approval of ours.
 */
export function readToolFilter(fields: JsonObject): ServerConfig["tools"] {
  const { tools } = fields;
  const own =
    typeof tools === "object" && tools !== null && !Array.isArray(tools) ? (tools as JsonObject) : {};
  const include = readFirstNames(fields, includes) ?? readNames(own["include"]) ?? readAllowedNames(tools);
  const exclude = readFirstNames(fields, excludes) ?? readNames(own["exclude"]);
  if (include === undefined && exclude === undefined) return undefined;
  return { ...(include && { include }), ...(exclude && { exclude }) };
}

/** A list of names allows these tools. A list of objects only describes tools, and `*` stands for all of them. */
function readAllowedNames(tools: unknown): readonly string[] | undefined {
  if (!Array.isArray(tools) || tools.includes("*") || !tools.every((tool) => typeof tool === "string"))
    return undefined;
  return tools;
}

function readFirstNames(fields: JsonObject, keys: readonly string[]): readonly string[] | undefined {
  const key = keys.find((candidate) => fields[candidate] !== undefined && fields[candidate] !== null);
  return key === undefined ? undefined : readNames(fields[key]);
}

function readNames(value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  // Passing over a list that cannot be read would allow what it forbids.
  if (!Array.isArray(value)) throw new EntryError("its list of tools is not a list");
  return readStrings(value, "its list of tools");
}

/** Longer names do not fit into the tool names that clients accept. */
const LONGEST = 200;

/**
 * Normalizes the name of a server to its id: no colon, which separates server and tool, and no invisible characters,
 * because names that look alike must be equal. Undefined if no character is left.
 */
export function normalizeServerName(given: unknown): string | undefined {
  if (typeof given !== "string" || given.length > LONGEST) return undefined;
  const name = given
    .replace(/\s+/gu, " ")
    // Controls, zero-width and direction marks, halves of surrogate pairs, fillers.
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}]/gu, "")
    .normalize("NFC")
    .replaceAll(":", "-")
    .replace(/\s+/gu, " ")
    .trim();
  return name === "" ? undefined : name;
}
