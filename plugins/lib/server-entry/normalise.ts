import { checkJson, GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import {
  type Connection,
  type Dialect,
  type Origin,
  objectAt,
  type RawEntry,
  type ServerConfig,
} from "../../../core/services/sources.ts";
import { connectionOf, Refusal, texts } from "./connection-of.ts";

/** A server in the one form for all, or why it cannot have it. */
export type Normalised =
  | { readonly config: ServerConfig; readonly reason?: undefined }
  | { readonly config?: undefined; readonly reason: string };

/** What the file around an entry says about it. */
export interface NormaliseOptions {
  readonly dialect?: Dialect | undefined;
  readonly inputs?: unknown;
}

/** No honest entry is larger, and what is in here is hashed and printed later. */
const LIMITS = { depth: 32, size: 1_000_000 };
/** The longest a timer can run. */
const LONGEST_MS = 2_147_483_647;
const LONGEST_DESCRIPTION = 2_000;

/** Turns one entry in any dialect into the one form for all. Never throws, and no reason quotes a value. */
export function normalise(raw: RawEntry, origin: Origin, options: NormaliseOptions = {}): Normalised {
  try {
    if (raw.reason !== undefined) return { reason: raw.reason };
    return { config: build(raw, origin, options) };
  } catch (thrown) {
    if (thrown instanceof Refusal) return { reason: thrown.message };
    if (!GatewayError.is(thrown)) return { reason: "it cannot be read" };
    const reasons: Readonly<Record<string, string>> = {
      ARGUMENTS_TOO_LARGE: "it is too large",
      ARGUMENTS_TOO_DEEP: "it is nested too deeply",
      FORBIDDEN_KEY: "it holds a key that is not allowed",
    };
    return { reason: reasons[thrown.code] ?? "it holds a value that is not plain data" };
  }
}

function build({ name: given, entry }: RawEntry, origin: Origin, options: NormaliseOptions): ServerConfig {
  const name = serverName(given);
  if (name === undefined)
    throw new Refusal(given === undefined ? "it has no name" : "its name cannot be used");
  if (!isJsonObject(entry)) throw new Refusal("it is not an object");
  checkJson(entry, LIMITS);
  const { dialect = {} } = options;
  // Some dialects keep the connection in an object of its own.
  const fields: JsonObject = { ...entry, ...objectAt(entry["transport"]), ...objectAt(entry["connection"]) };
  // A driver may be a module, and no file that others write may name code to run.
  if (origin.scope !== "config" && fields["driver"] !== undefined)
    throw new Refusal("it names a driver, which only the config of toolpipe may");
  const connection = connectionOf(fields, dialect);
  const description = fields["description"];
  return {
    name,
    description: typeof description === "string" ? description.slice(0, LONGEST_DESCRIPTION) : undefined,
    connection,
    disabled: fields["disabled"] === true || fields["enabled"] === false ? true : undefined,
    tools: toolFilter(fields),
    ...timeoutsOf(fields, dialect),
    inputs: inputsOf(connection, options.inputs ?? fields["inputs"]),
    origin,
  };
}

function timeoutsOf(
  fields: JsonObject,
  { timeout }: Dialect,
): Pick<ServerConfig, "startTimeoutMs" | "callTimeoutMs"> {
  const bare = fields["timeout"];
  const first = (...candidates: readonly (readonly [unknown, number])[]): number | undefined => {
    for (const [value, factor] of candidates) {
      if (typeof value === "number" && value > 0) return Math.min(Math.ceil(value * factor), LONGEST_MS);
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

/** Of everything a file asks for, what this server needs. */
function inputsOf(connection: Connection, given: unknown): ServerConfig["inputs"] {
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
 * Which tools an entry allows or forbids. What a client approves in advance (`autoApprove`, `alwaysAllow`,
 * `trust`) is not looked at: it was meant for that client's own prompts and is no approval of ours.
 */
export function toolFilter(fields: JsonObject): ServerConfig["tools"] {
  const { tools } = fields;
  const own =
    typeof tools === "object" && tools !== null && !Array.isArray(tools) ? (tools as JsonObject) : {};
  const include = namesUnder(fields, includes) ?? namesIn(own["include"]) ?? listed(tools);
  const exclude = namesUnder(fields, excludes) ?? namesIn(own["exclude"]);
  if (include === undefined && exclude === undefined) return undefined;
  return { ...(include && { include }), ...(exclude && { exclude }) };
}

/** A list of names allows them. A list of objects only describes tools, and `*` stands for all of them. */
function listed(tools: unknown): readonly string[] | undefined {
  if (!Array.isArray(tools) || tools.includes("*") || !tools.every((tool) => typeof tool === "string"))
    return undefined;
  return tools;
}

function namesUnder(fields: JsonObject, keys: readonly string[]): readonly string[] | undefined {
  const key = keys.find((candidate) => fields[candidate] !== undefined && fields[candidate] !== null);
  return key === undefined ? undefined : namesIn(fields[key]);
}

function namesIn(value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  // Passing over a list that cannot be read would allow what it forbids.
  if (!Array.isArray(value)) throw new Refusal("its list of tools is not a list");
  return texts(value, "its list of tools");
}

/** Longer ones would not fit into the tool names that clients accept. */
const LONGEST = 200;

/**
 * The id a server gets from the name it was given: no colon, which separates server and tool, and nothing that
 * cannot be seen, because two names that look alike must be alike. Undefined where nothing is left.
 */
export function serverName(given: unknown): string | undefined {
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
