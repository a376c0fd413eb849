import type { Gateway } from "../../../core/mod.ts";
import type { ServerStatus } from "../../../core/services/servers.ts";
import { hasServer, serversOf as listedServers, noServer, type ServerMetadata } from "../servers.ts";
import { shownLine } from "./output.ts";

/** A server as the commands list it. */
export type ServerRow = Omit<ServerMetadata, "config"> & { readonly reason: string };

/** The statuses of all servers but those of the gateway's own plugins, such as the demo, which are always there. */
export function statusesOf(gateway: Gateway): readonly ServerStatus[] {
  return gateway.services.servers?.statuses() ?? [];
}

/** Every server, with why it has its status. */
export function serversOf(gateway: Gateway): readonly ServerRow[] {
  return listedServers(gateway).map((row) => {
    const status = gateway.services.servers?.status(row.name);
    const reason = status ? reasonOf(status) : "It is part of the gateway.";
    return { ...row, description: shownLine(row.description), reason };
  });
}

/** Why a server has its status. One that is only not in use is nothing to worry about, and says so. */
export function reasonOf(status: ServerStatus): string {
  return isAtRest(status) ? "It connects when it is used." : status.reason;
}

/** Whether it works as far as anyone knows, and nobody uses it. */
export function isAtRest({ status, config, listedAt }: ServerStatus): boolean {
  return status === "disconnected" && !config.disabled && listedAt !== undefined;
}

/** Whether it must not be connected: it waits for approval, or is switched off. */
export function isHeld({ status, config }: ServerStatus): boolean {
  return status === "needs-approval" || config.disabled === true;
}

/** The servers that can be asked for their tools: all, or the one that is meant. */
export function askableServers(gateway: Gateway, server?: string): readonly ServerStatus[] {
  return statusesOf(gateway).filter(
    (status) => !isHeld(status) && (server === undefined || status.name === server),
  );
}

/** The same, but only those that never were asked, or never answered. */
export function unknownServers(gateway: Gateway, server?: string): readonly ServerStatus[] {
  return askableServers(gateway, server).filter(({ listedAt }) => listedAt === undefined);
}

/** Asks servers for their tools, and lets a person know. Failures are in their status. */
export async function askServers(gateway: Gateway, servers: readonly ServerStatus[]): Promise<void> {
  if (servers.length === 0) return;
  const who = servers.length === 1 ? `"${servers[0]?.name}"` : `${servers.length} servers`;
  const done = waitingLine(`Asking ${who} for tools …`);
  try {
    await Promise.all(servers.map(({ name }) => gateway.services.servers?.refresh(name)));
  } finally {
    done();
  }
}

/** Asks the server of a tool that is not known: it may be newer than what is remembered. */
export async function askForTool(gateway: Gateway, server: string, tool: string): Promise<void> {
  if (!gateway.catalog.tool(`${server}:${tool}`)) await askServers(gateway, askableServers(gateway, server));
}

/** Refuses a server that is not there. */
export function checkServer(gateway: Gateway, server: string): void {
  if (!hasServer(gateway, server)) throw noServer(gateway, server);
}

/** Most waits are over before anyone could read of them. */
const WAIT_MS = 300;

/** Shows a person at a terminal what is waited for; returns what takes it away. Pipes see nothing. */
export function waitingLine(text: string): () => void {
  if (!process.stderr.isTTY) return () => {};
  let isShown = false;
  const timer = setTimeout(() => {
    isShown = true;
    process.stderr.write(text);
  }, WAIT_MS);
  return () => {
    clearTimeout(timer);
    if (isShown) process.stderr.write("\r\u001b[2K");
    isShown = false;
  };
}

/** What to do where there are no servers at all. */
export function noServers({ configFile }: Gateway): string {
  return configFile === undefined
    ? 'There are no servers. Define one under "mcpServers" in a toolpipe.config.json, or in a client that toolpipe imports from: "toolpipe config sources --all" lists the files it looks for.\n'
    : `There are no servers in ${configFile}. Define one under "mcpServers", or import those of your clients with "options": { "sources": { "clients": "all" } }.\n`;
}
