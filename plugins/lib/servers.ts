import {
  type Catalog,
  type ErrorKind,
  errorKinds,
  type Gateway,
  GatewayError,
  nearest,
  type Tool,
} from "../../core/mod.ts";
import {
  CONNECT_FAILED,
  NEEDS_APPROVAL,
  NEEDS_AUTH,
  type ServerStatus,
} from "../../core/services/servers.ts";
import type { Connection } from "../../core/services/sources.ts";
import { toTerminalLine } from "./terminal/output.ts";
import { shorten, toOneLine } from "./text/shorten.ts";
import { estimateTokens } from "./tokens.ts";

const LIST_TOKENS = 100;
/** Names, in the specification, of failures to reach a server. */
const unreachable = new Set<string | undefined>([CONNECT_FAILED.spec, errorKinds.TIMEOUT.spec]);

/** Server as the specification lists it. */
export interface ServerMetadata {
  readonly name: string;
  readonly description: string;
  readonly toolCount: number;
  readonly enabledCount: number;
  readonly status: "connected" | "disconnected" | "error";
  readonly reason?: string;
  /** Connection of the definition. It may hold secrets, so it is not enumerable: JSON and copies leave it out. */
  readonly config?: Connection;
}

/** Lists every server, also one that could not be added to the catalog. */
export function listServerMetadata(gateway: Gateway): ServerMetadata[] {
  const known = gateway.catalog.servers();
  const ids = new Set(known.map(({ id }) => id));
  const left = (gateway.services.servers?.statuses() ?? []).filter(({ name }) => !ids.has(name));
  return [
    ...known.map(({ id, title, description }) => toServerMetadata(gateway, id, description ?? title)),
    ...left.map(({ name, config }) => toServerMetadata(gateway, name, config.description)),
  ];
}

/** Whether there is a server of this name other than the gateway itself. */
export function hasServer({ catalog, services }: Gateway, name: string): boolean {
  const known = catalog.server(name);
  return (known !== undefined && !known.builtin) || services.servers?.status(name) !== undefined;
}

/** Lists the tools of a server. A server with the name of the gateway does not get the gateway's tools. */
export function listServerTools({ catalog }: Gateway, server: string): readonly Tool[] {
  return catalog.server(server)?.builtin ? [] : catalog.tools(server);
}

/** Finds a tool of a server. */
export function findTool({ catalog }: Gateway, server: string, name: string): Tool | undefined {
  const tool = catalog.tool(`${server}:${name}`);
  // The name of a tool may hold a colon, so that another server and name make the same id.
  return tool && !tool.builtin && tool.server === server ? tool : undefined;
}

function toServerMetadata(gateway: Gateway, name: string, description: string | undefined): ServerMetadata {
  const tools = listServerTools(gateway, name);
  const status = gateway.services.servers?.status(name);
  const row = {
    name,
    description: toOneLine(description),
    toolCount: tools.length,
    enabledCount: tools.filter((tool) => tool.enabled).length,
    // Servers of plugins are always connected.
    status: status ? toShownStatus(status) : "connected",
    ...(status && !isUsable(status) && { reason: status.reason }),
  };
  return status ? Object.defineProperty(row, "config", { value: status.config.connection }) : row;
}

/**
 * Maps a state to the three of the specification, and the reason tells the rest: a server that cannot be reached is
 * disconnected, and one that is to be fixed first (a variable, its definition, a login) has an error.
 */
export function toShownStatus({ status, failure }: ServerStatus): ServerMetadata["status"] {
  if (status === "connected") return status;
  if (status === "needs-auth") return "error";
  return status === "error" && !unreachable.has(failure?.spec) ? "error" : "disconnected";
}

/** Whether a server can be called; a disconnected one connects when it is used. */
export function isUsable({ status, config }: ServerStatus): boolean {
  return status === "connected" || (status === "disconnected" && !config.disabled);
}

/** The catalog revision at which every server had been listed: with a thousand servers, asking takes longer than a search. */
const complete = new WeakMap<Catalog, number>();

/** Lists the servers whose tools are not known yet and that may still answer. */
export function listPendingServers(gateway: Gateway): string[] {
  const { revision } = gateway.catalog;
  if (complete.get(gateway.catalog) === revision) return [];
  const statuses = gateway.services.servers?.statuses() ?? [];
  const pending = statuses.filter((status) => status.listedAt === undefined && isUsable(status));
  if (pending.length === 0) complete.set(gateway.catalog, revision);
  return pending.map(({ name }) => name);
}

/** Creates the error for an unknown server, with the nearest name. */
export function serverNotFound(gateway: Gateway, server: string, start = ""): GatewayError {
  const names = listServerMetadata(gateway).map(({ name }) => name);
  const hint = nearest(server, names);
  const there = `There is no server "${shorten(server, 80)}"${hint ? `; did you mean "${hint}"?` : "."}`;
  const all = names.length > 0 ? ` The servers are ${joinNames(names)}.` : " There are no servers.";
  const notes = (gateway.services.notices?.() ?? []).map((notice) => ` ${notice}`).join("");
  return new GatewayError("TOOL_NOT_FOUND", `${start}${there}${all}${notes}`, {
    data: { server, suggestions: hint ? [hint] : [] },
  });
}

/** Returns the error that explains why the tools of a server are unknown; undefined if they are known. */
export function findServerError(gateway: Gateway, server: string): GatewayError | undefined {
  const status = gateway.services.servers?.status(server);
  if (!status || status.listedAt !== undefined) return undefined;
  const kinds: Partial<Record<string, ErrorKind>> = {
    "needs-approval": NEEDS_APPROVAL,
    "needs-auth": NEEDS_AUTH,
  };
  const kind = status.config.disabled ? "TOOL_DISABLED" : (kinds[status.status] ?? CONNECT_FAILED);
  const { reason } = status;
  const isNamed = reason.includes(`"${server}"`);
  return new GatewayError(kind, isNamed ? reason : `The server "${server}" cannot be used. ${reason}`, {
    data: { server },
  });
}

/** Returns the error of a command that lists tools and cannot ask their server: its exit code is 3, whatever the reason. */
export function toUnreachable({ kind, message, data }: GatewayError): GatewayError {
  return new GatewayError({ ...kind, exit: 3 }, message, { data });
}

/** Joins names up to a limit of tokens, and counts the rest. */
export function joinNames(names: readonly string[], tokens: number = LIST_TOKENS): string {
  const shown: string[] = [];
  let spent = 0;
  for (const name of names) {
    const text = shorten(name, 64);
    spent += estimateTokens(`, ${text}`);
    if (spent > tokens) break;
    shown.push(text);
  }
  const more = names.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`.trim();
}

/** Server as commands list it. */
export type ServerRow = Omit<ServerMetadata, "config"> & { readonly reason: string };

/** Lists the statuses of configured servers; those of plugins, such as the demo, have none. */
export function listStatuses(gateway: Gateway): readonly ServerStatus[] {
  return gateway.services.servers?.statuses() ?? [];
}

/** Lists every server with the reason for its status. */
export function listServerRows(gateway: Gateway): readonly ServerRow[] {
  return listServerMetadata(gateway).map((row) => {
    const status = gateway.services.servers?.status(row.name);
    const reason = status ? describeStatus(status) : "It is part of the gateway.";
    return { ...row, description: toTerminalLine(row.description), reason };
  });
}

/** Returns the reason for a status. */
export function describeStatus(status: ServerStatus): string {
  return isIdle(status) ? "It connects when it is used." : status.reason;
}

/** Whether a server works as far as known, and is not connected now. */
export function isIdle({ status, config, listedAt }: ServerStatus): boolean {
  return status === "disconnected" && !config.disabled && listedAt !== undefined;
}

/** Whether a server must not be connected: it waits for approval, or is disabled. */
export function isHeld({ status, config }: ServerStatus): boolean {
  return status === "needs-approval" || config.disabled === true;
}

/** Lists the servers that can be asked for their tools: all, or the named one. */
export function askableServers(gateway: Gateway, server?: string): readonly ServerStatus[] {
  return listStatuses(gateway).filter(
    (status) => !isHeld(status) && (server === undefined || status.name === server),
  );
}

/** Lists the servers that were never listed, or whose listing is older than the cache keeps it: all, or the named one. */
export function unknownServers(gateway: Gateway, server?: string): readonly ServerStatus[] {
  const ttlMs = gateway.services.cache?.ttlMs ?? Number.POSITIVE_INFINITY;
  return askableServers(gateway, server).filter(
    ({ listedAt }) => listedAt === undefined || Math.abs(Date.now() - listedAt) > ttlMs,
  );
}

/** Lists the servers that were listed once and could not be connected when they were last tried. */
export function failedServers(gateway: Gateway): readonly ServerStatus[] {
  return askableServers(gateway).filter(
    ({ status, listedAt }) => listedAt !== undefined && (status === "error" || status === "needs-auth"),
  );
}

/** Time for a server to connect and to list its tools, where a command shows its state. */
export const CHECK_MS = 5_000;

/** Lists the tools of servers again, with the progress on the terminal. Failures are in their status. */
export async function askServers(
  gateway: Gateway,
  servers: readonly ServerStatus[],
  options: { readonly limitMs?: number } = {},
): Promise<void> {
  if (servers.length === 0) return;
  const who = servers.length === 1 ? `"${servers[0]?.name}"` : `${servers.length} servers`;
  let answered = 0;
  const done = showWaiting(() => `Asking ${who} for tools …${answered > 0 ? ` ${answered} answered` : ""}`);
  try {
    await Promise.all(
      servers.map(async ({ name }) => {
        await gateway.services.servers?.refresh(name, options);
        answered++;
        done.update();
      }),
    );
  } finally {
    done();
  }
}

/** Lists the server of a tool again if the tool is unknown, so perhaps newer than the cached listing, or the listing is old. */
export async function askForTool(gateway: Gateway, server: string, tool: string): Promise<void> {
  const isKnown = gateway.catalog.tool(`${server}:${tool}`) !== undefined;
  await askServers(gateway, isKnown ? unknownServers(gateway, server) : askableServers(gateway, server));
}

/** Refuses a server that is not there. */
export function checkServer(gateway: Gateway, server: string): void {
  if (!hasServer(gateway, server)) throw serverNotFound(gateway, server);
}

/** Most waits are shorter. */
const WAIT_MS = 300;

/** Writes a note to the terminal while something is awaited; returns a function that removes it. Pipes get none. */
export function showWaiting(text: string | (() => string)): (() => void) & { update(): void } {
  if (!process.stderr.isTTY) return Object.assign(() => {}, { update() {} });
  let isShown = false;
  const write = (): void => {
    process.stderr.write(`\r\u001b[2K${typeof text === "string" ? text : text()}`);
  };
  const timer = setTimeout(() => {
    isShown = true;
    write();
  }, WAIT_MS);
  const end = (): void => {
    clearTimeout(timer);
    if (isShown) process.stderr.write("\r\u001b[2K");
    isShown = false;
  };
  return Object.assign(end, { update: () => void (isShown && write()) });
}

/** Explains what to do without any servers. */
export function explainNoServers({ configFile }: Gateway): string {
  return configFile === undefined
    ? 'There are no servers. Define one under "mcpServers" in a toolpipe.config.json, or in a client that toolpipe imports from: "toolpipe config sources --all" lists the files it looks for.\n'
    : `There are no servers in ${configFile}. Define one under "mcpServers", or import those of your clients with "options": { "sources": { "clients": "all" } }.\n`;
}
