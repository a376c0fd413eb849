import { type ErrorKind, type Gateway, GatewayError, nearest, type Tool } from "../../core/mod.ts";
import {
  CONNECT_FAILED,
  NEEDS_APPROVAL,
  NEEDS_AUTH,
  type ServerState,
  type ServerStatus,
} from "../../core/services/servers.ts";
import type { Connection } from "../../core/services/sources.ts";
import { oneLine, shorten } from "./text/shorten.ts";
import { estimateTokens } from "./tokens.ts";

const LIST_TOKENS = 100;

/** A server, as the specification lists them. */
export interface ServerMetadata {
  readonly name: string;
  readonly description: string;
  readonly toolCount: number;
  readonly enabledCount: number;
  readonly status: ServerState;
  /** Why it cannot be used; not there where it can. */
  readonly reason?: string;
  /** How it is reached, as its definition says. It may hold secrets, so JSON and copies of this object leave it out. */
  readonly config?: Connection;
}

/** Every server, also one that could not be taken into the catalog: it must not disappear for that. */
export function serversOf(gateway: Gateway): ServerMetadata[] {
  const known = gateway.catalog.servers();
  const ids = new Set(known.map(({ id }) => id));
  const left = (gateway.services.servers?.statuses() ?? []).filter(({ name }) => !ids.has(name));
  return [
    ...known.map(({ id, title, description }) => rowOf(gateway, id, description ?? title)),
    ...left.map(({ name, config }) => rowOf(gateway, name, config.description)),
  ];
}

/** Whether there is a server of this name, other than the gateway itself. */
export function hasServer({ catalog, services }: Gateway, name: string): boolean {
  const known = catalog.server(name);
  return (known !== undefined && !known.builtin) || services.servers?.status(name) !== undefined;
}

/** The tools of a server. One that took the name of the gateway itself does not have the gateway's. */
export function toolsOf({ catalog }: Gateway, server: string): readonly Tool[] {
  return catalog.server(server)?.builtin ? [] : catalog.tools(server);
}

/** One tool of a server. */
export function findTool({ catalog }: Gateway, server: string, name: string): Tool | undefined {
  const tool = catalog.tool(`${server}:${name}`);
  // The name of a tool may hold a colon, so that another server and name make the same id.
  return tool && !tool.builtin && tool.server === server ? tool : undefined;
}

function rowOf(gateway: Gateway, name: string, description: string | undefined): ServerMetadata {
  const tools = toolsOf(gateway, name);
  const status = gateway.services.servers?.status(name);
  const row = {
    name,
    description: oneLine(description),
    toolCount: tools.length,
    enabledCount: tools.filter((tool) => tool.enabled).length,
    // What a plugin brings is always there.
    status: status?.status ?? "connected",
    ...(status && !isUsable(status) && { reason: status.reason }),
  };
  return status ? Object.defineProperty(row, "config", { value: status.config.connection }) : row;
}

/** One that is only not connected is so when it is needed. */
export function isUsable({ status, config }: ServerStatus): boolean {
  return status === "connected" || (status === "disconnected" && !config.disabled);
}

/** The error for a server that is not there, with what may have been meant. */
export function noServer(gateway: Gateway, server: string, start = ""): GatewayError {
  const names = serversOf(gateway).map(({ name }) => name);
  const hint = nearest(server, names);
  const there = `There is no server "${shorten(server, 80)}"${hint ? `; did you mean "${hint}"?` : "."}`;
  const all = names.length > 0 ? ` The servers are ${someOf(names)}.` : " There are no servers at all.";
  return new GatewayError("TOOL_NOT_FOUND", `${start}${there}${all}`, {
    data: { server, suggestions: hint ? [hint] : [] },
  });
}

/** Why the tools of a server are not known; nothing where they are. */
export function troubleOf(gateway: Gateway, server: string): GatewayError | undefined {
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

/** As many names as are bearable, and how many there are besides. */
export function someOf(names: readonly string[], tokens: number = LIST_TOKENS): string {
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
