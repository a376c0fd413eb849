import { checkJson, GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { Refusal } from "./_fields.ts";
import { connectionOf } from "./connection-of.ts";
import type { Connection, Origin, ServerConfig } from "./server-config.ts";
import { serverName } from "./server-name.ts";
import { type Dialect, objectAt, type RawEntry } from "./source.ts";
import { toolFilter } from "./tool-filter.ts";

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
