import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { RegistryEntry } from "../../core/services/registries.ts";
import { isLoopback } from "../lib/http/server-request.ts";
import { redactCommand } from "../lib/redact.ts";
import { normalizeEntry, normalizeServerName } from "../lib/server-entry/normalize.ts";
import { toVariableName } from "../lib/server-entry/server-inputs.ts";
import {
  type InputAnswers,
  listUses,
  type NeedKind,
  parseServerJson,
  type ServerNeed,
} from "../lib/server-entry/server-json.ts";
import { toLine } from "./entry.ts";
import { REGISTRY_REFUSED } from "./errors.ts";

/** Options for {@link planInstall}. */
export interface InstallOptions {
  /** Its name in the config; derived from its own by default. */
  readonly id?: string | undefined;
  /** `npm`, `pypi`, `oci`, `nuget`, `mcpb` or `remote`; the first that is usable by default. */
  readonly use?: string | undefined;
  readonly given?: Given | undefined;
}

/** Definition to write for a server. */
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
export function chooseWay(entry: RegistryEntry, use?: string): string {
  const ways = listUses(entry.server);
  if (ways.length === 0)
    throw refuseEntry(entry, "it has neither a package that can be started here nor a remote");
  if (use !== undefined && !ways.includes(use))
    throw refuseEntry(entry, `it cannot be used by ${use}, only by ${ways.join(", ")}`);
  if (use !== undefined) return use;
  // A bundle comes last: nothing is known of it before it is fetched.
  const ordered = [...ways.filter((way) => way !== "mcpb"), ...ways.filter((way) => way === "mcpb")];
  return ordered.find((way) => findObstacle(entry, way) === undefined) ?? (ordered[0] as string);
}

function findObstacle(entry: RegistryEntry, way: string): string | undefined {
  return way === "mcpb" ? undefined : parseServerJson(entry.server, { use: way, exact: true }).reason;
}

/** Plans how a server is added; nothing is run or written. Throws `REGISTRY_REFUSED` if it must not be added. */
export function planInstall(entry: RegistryEntry, options: InstallOptions = {}): InstallPlan {
  refuseDeleted(entry);
  const way = chooseWay(entry, options.use);
  return createPlan(entry, way, options, (answers) => {
    const { entry: made, reason } = parseServerJson(entry.server, { use: way, exact: true, answers });
    if (reason !== undefined || !isJsonObject(made)) throw refuseEntry(entry, reason ?? "it cannot be read");
    return made;
  });
}

/** Plans with a definition that the caller makes, such as that of a bundle. */
export function createPlan(
  entry: RegistryEntry,
  way: string,
  { id: asked, given = nothing }: InstallOptions,
  make: (answers: InputAnswers) => JsonObject,
): InstallPlan {
  const id = chooseId(entry, asked);
  const asking = createAsking(id, given);
  const made = make(asking.answers);
  const definition = tidy({ ...made, description: toLine(entry.description, LONGEST_DESCRIPTION) });
  asking.addRest(definition);
  checkDefinition(entry, id, definition);
  const written = JSON.stringify(definition);
  const needs = asking.needs();
  const toSet = needs.filter(({ variable }) => written.includes(`\${${variable}}`));
  return { id, way, definition, needs, toSet, withheld: asking.withheld() };
}

/** Creates the error for a server that is not added. */
export function refuseEntry({ name, version }: RegistryEntry, why: string): GatewayError {
  return new GatewayError(REGISTRY_REFUSED, `"${name}" ${version} cannot be added: ${why}.`, {
    data: { server: name, version },
  });
}

/** Refuses a version that its registry has deleted. */
export function refuseDeleted(entry: RegistryEntry): void {
  if (entry.status !== "deleted") return;
  const said = entry.statusMessage ? ` (${entry.statusMessage})` : "";
  throw refuseEntry(entry, `its registry has deleted it${said}`);
}

function chooseId(entry: RegistryEntry, asked: string | undefined): string {
  const id = normalizeServerName(asked ?? defaultId(entry.name));
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

function checkDefinition(entry: RegistryEntry, id: string, definition: JsonObject): void {
  const { config, reason } = normalizeEntry(
    { name: id, entry: definition },
    { source: "inline", scope: "config" },
  );
  if (!config) throw refuseEntry(entry, reason);
  if (config.connection.type === "stdio") return;
  const { url } = config.connection;
  // A variable may stand for the port.
  const filled = url.replaceAll(/\$\{[^}]*\}/g, "1");
  const isOwn = /^http:/i.test(url) && URL.canParse(filled) && isLoopback(new URL(filled).hostname);
  if (!/^https:\/\//i.test(url) && !url.startsWith("${") && !isOwn)
    throw refuseEntry(entry, "it would be reached without encryption");
}

/** Values that the user gives for the settings of a server, by name. */
export interface Given {
  readonly env: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** Values of arguments, and of variables in a URL or a template. */
  readonly arguments: Readonly<Record<string, string>>;
}

const REFERENCE = /^(?:(?:Bearer|Basic|Token) )?\$\{[A-Za-z_]\w*\}$/;

/** Answers the questions of a server, and records them. */
interface Asking {
  readonly answers: InputAnswers;
  needs(): readonly ServerNeed[];
  withheld(): readonly string[];
  /** Adds the given values that the server did not ask for. */
  addRest(definition: JsonObject): void;
}

/** Creates an asking that answers with the given values. */
function createAsking(id: string, given: Given): Asking {
  const needs = new Map<string, ServerNeed>();
  const withheld = new Set<string>();
  const used = new Set<string>();
  const prefix = toVariableName(id);
  const answers: InputAnswers = {
    // A publisher chooses these names. With the prefix, none can be the name of another program's secret.
    variable: (kind, name) => (kind === "env" ? name : `${prefix}_${toVariableName(name)}`),
    given(need) {
      needs.set(`${need.kind} ${need.name}`, need);
      const found = findGiven(given, need);
      if (!found) return undefined;
      const { group, name, value } = found;
      used.add(`${group} ${name}`);
      if (need.choices && need.choices.length > 0 && !need.choices.includes(value)) {
        const choices = need.choices.map((choice) => toLine(choice)).join(", ");
        throw new GatewayError("CONFIG_INVALID", `${toLine(need.name)} must be one of ${choices}.`);
      }
      return withholdSecret(need, value);
    },
  };

  return {
    answers,
    needs: () => [...needs.values()],
    withheld: () => [...withheld],
    addRest(definition) {
      const isLocal = definition["command"] !== undefined;
      const rest = (group: "env" | "headers" | "arguments"): [string, string][] =>
        Object.entries(given[group]).filter(([name]) => !used.has(`${group} ${name}`));
      const stray = [...rest("arguments"), ...rest(isLocal ? "headers" : "env")][0];
      if (stray) {
        const asked = [...needs.values()].map(({ name }) => toLine(name)).join(", ") || "nothing";
        throw new GatewayError(
          "CONFIG_INVALID",
          `The server does not ask for "${stray[0]}", but for ${asked}.`,
        );
      }
      const group = isLocal ? "env" : "headers";
      for (const [name, value] of rest(group)) {
        const kind = isLocal ? "env" : "header";
        const need = {
          kind,
          name,
          variable: answers.variable(kind, name),
          isRequired: false,
          isSecret: false,
        } as const;
        needs.set(`${kind} ${name}`, need);
        definition[group] = { ...(definition[group] as JsonObject), [name]: withholdSecret(need, value) };
      }
    },
  };

  /** A secret is never written: a file is copied, shared and backed up. */
  function withholdSecret(need: ServerNeed, value: string): string {
    if (REFERENCE.test(value) || !(need.isSecret || looksSecret(need.name, value))) return value;
    withheld.add(need.name);
    return `\${${need.variable}}`;
  }
}

/** Whether a value would be redacted when it is shown; then it is not written either. */
function looksSecret(name: string, value: string): boolean {
  const unquoted = (text: string): string => text.replace(/['\\]/g, "");
  const isShown = (arg: string): boolean => unquoted(redactCommand("x", [arg])) === unquoted(`x ${arg}`);
  return !isShown(`${name}=${value}`) || !isShown(value);
}

/** Finds the value of a need. Headers and arguments match in any case, arguments without their dashes. */
function findGiven(
  given: Given,
  { kind, name }: ServerNeed,
): { group: keyof Given; name: string; value: string } | undefined {
  const groups: Readonly<Record<NeedKind, readonly (keyof Given)[]>> = {
    env: ["env"],
    header: ["headers", "arguments"],
    argument: ["arguments"],
    url: ["arguments"],
  };
  const fold = (text: string): string => (kind === "env" ? text : text.toLowerCase().replace(/^-+/, ""));
  for (const group of groups[kind])
    for (const [own, value] of Object.entries(given[group]))
      if (fold(own) === fold(name)) return { group, name: own, value };
  return undefined;
}
