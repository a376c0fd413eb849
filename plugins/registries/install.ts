import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { RegistryEntry } from "../../core/services/registries.ts";
import { normalise, serverName } from "../lib/server-entry/normalise.ts";
import { type Answers, fromServerJson, type ServerNeed, waysOf } from "../lib/server-entry/server-json.ts";
import { createAsking, type Given } from "./asking.ts";
import { plain } from "./entry.ts";
import { REGISTRY_REFUSED } from "./errors.ts";

export type { Given } from "./asking.ts";

/** Options for {@link planInstall}. */
export interface InstallOptions {
  /** Its name in the config; derived from its own by default. */
  readonly id?: string | undefined;
  /** `npm`, `pypi`, `oci`, `nuget`, `mcpb` or `remote`; the first that is usable by default. */
  readonly use?: string | undefined;
  readonly given?: Given | undefined;
}

/** The definition that would be written for a server. */
export interface InstallPlan {
  readonly id: string;
  readonly way: string;
  /** The definition for `mcpServers`. */
  readonly definition: JsonObject;
  /** Settings that the server asks for. */
  readonly needs: readonly ServerNeed[];
  /** Settings to put into the environment before the server can be used. */
  readonly toSet: readonly ServerNeed[];
  /** Names of given secrets, which the definition refers to by variable only. */
  readonly withheld: readonly string[];
}

/** Agents see descriptions; a registry allows half of this. */
const LONGEST_DESCRIPTION = 200;
const nothing: Given = { env: {}, headers: {}, arguments: {} };

/** Derives the name of a server in the config: its own, without "mcp" and "server". */
export function defaultId(name: string): string {
  const [owner = "", own = ""] = name.split("/");
  const bare = own.replace(/(^|[-_.])(mcp|server)(?=$|[-_.])/gi, "").replace(/^[-_.]+|[-_.]+$/g, "");
  return bare || owner.split(".").at(-1) || own;
}

/** Chooses the package or remote by which a server is used. */
export function wayOf(entry: RegistryEntry, use?: string): string {
  const ways = waysOf(entry.server);
  if (ways.length === 0)
    throw refused(entry, "it has neither a package that can be started here nor a remote");
  if (use !== undefined && !ways.includes(use))
    throw refused(entry, `it cannot be used by ${use}, only by ${ways.join(", ")}`);
  if (use !== undefined) return use;
  // A bundle comes last: nothing is known of it before it is fetched.
  const ordered = [...ways.filter((way) => way !== "mcpb"), ...ways.filter((way) => way === "mcpb")];
  return ordered.find((way) => whyNot(entry, way) === undefined) ?? (ordered[0] as string);
}

function whyNot(entry: RegistryEntry, way: string): string | undefined {
  return way === "mcpb" ? undefined : fromServerJson(entry.server, { use: way, exact: true }).reason;
}

/** Plans how a server is added; nothing is run or written. Throws `REGISTRY_REFUSED` if it must not be added. */
export function planInstall(entry: RegistryEntry, options: InstallOptions = {}): InstallPlan {
  refuseDeleted(entry);
  const way = wayOf(entry, options.use);
  return planWith(entry, way, options, (answers) => {
    const { entry: made, reason } = fromServerJson(entry.server, { use: way, exact: true, answers });
    if (reason !== undefined || !isJsonObject(made)) throw refused(entry, reason ?? "it cannot be read");
    return made;
  });
}

/** Plans with a definition that the caller makes, such as that of a bundle. */
export function planWith(
  entry: RegistryEntry,
  way: string,
  { id: asked, given = nothing }: InstallOptions,
  make: (answers: Answers) => JsonObject,
): InstallPlan {
  const id = idFrom(entry, asked);
  const asking = createAsking(id, given);
  const made = make(asking.answers);
  const definition = tidy({ ...made, description: plain(entry.description, LONGEST_DESCRIPTION) });
  asking.addRest(definition);
  check(entry, id, definition);
  const written = JSON.stringify(definition);
  const needs = asking.needs();
  const toSet = needs.filter(({ variable }) => written.includes(`\${${variable}}`));
  return { id, way, definition, needs, toSet, withheld: asking.withheld() };
}

/** The error for a server that is not added. */
export function refused({ name, version }: RegistryEntry, why: string): GatewayError {
  return new GatewayError(REGISTRY_REFUSED, `"${name}" ${version} cannot be added: ${why}.`, {
    data: { server: name, version },
  });
}

/** Refuses a version that its registry has deleted. */
export function refuseDeleted(entry: RegistryEntry): void {
  if (entry.status !== "deleted") return;
  const said = entry.statusMessage ? ` (${entry.statusMessage})` : "";
  throw refused(entry, `its registry has deleted it${said}`);
}

function idFrom(entry: RegistryEntry, asked: string | undefined): string {
  const id = serverName(asked ?? defaultId(entry.name));
  if (id !== undefined && (asked === undefined || id === asked)) return id;
  throw new GatewayError("CONFIG_INVALID", "A server cannot have this name. Give it another with --as.");
}

/** Converts a definition to the fields of our config, without empty ones. */
function tidy(made: JsonObject): JsonObject {
  const { description, type, ...rest } = made;
  const isEmpty = (value: unknown): boolean =>
    value === undefined ||
    value === "" ||
    (typeof value === "object" && value !== null && Object.keys(value).length === 0);
  const entries = Object.entries({
    ...(made["command"] === undefined && { type: type === "sse" ? "sse" : "http" }),
    ...rest,
    description,
  });
  return Object.fromEntries(entries.filter(([, value]) => !isEmpty(value)));
}

function check(entry: RegistryEntry, id: string, definition: JsonObject): void {
  const { config, reason } = normalise(
    { name: id, entry: definition },
    { source: "inline", scope: "config" },
  );
  if (!config) throw refused(entry, reason);
  if (config.connection.type === "stdio") return;
  const { url } = config.connection;
  const isOwn = /^http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])([:/]|$)/i.test(url);
  if (!/^https:\/\//i.test(url) && !url.startsWith("${") && !isOwn)
    throw refused(entry, "it would be reached without encryption");
}
