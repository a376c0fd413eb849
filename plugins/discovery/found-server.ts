import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { GatewayError } from "../../core/mod.ts";
import { NEEDS_APPROVAL } from "../../core/services/servers.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { isAllowed } from "../lib/http/address.ts";
import { SSRF_BLOCKED } from "../lib/http/errors.ts";

/** Name of the source of servers that a registry names. */
export const REGISTRY_SOURCE = "registry";

/** Whether a registry named a server, and no person did. */
export function isFound({ origin }: ServerConfig): boolean {
  return origin.source === REGISTRY_SOURCE;
}

/**
 * Refuses to ask a server that a registry named where that would run a stranger's program, or reach into a private
 * network. Over https a name that leads elsewhere a moment later still cannot be spoken to: what answers there
 * cannot prove that it has this name.
 */
export async function checkFound(config: ServerConfig, allowPrivate: boolean): Promise<void> {
  const { name, connection } = config;
  if (connection.type === "stdio") {
    throw new GatewayError(
      NEEDS_APPROVAL,
      `The server "${name}" is a program, and is not started only because a registry names it. Add it with: toolpipe registry add ${name}`,
      { data: { server: name } },
    );
  }
  const url = URL.canParse(connection.url) ? new URL(connection.url) : undefined;
  if (url?.protocol !== "https:" && !(allowPrivate && url?.protocol === "http:")) {
    throw refused(name, "it is not reached over https");
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) ? [host] : await lookUpAddresses(host);
  // Where a name leads nowhere, connecting to it says so.
  if (addresses.some((address) => !isAllowed(address, allowPrivate ? "private" : "public"))) {
    throw refused(name, "its address is not on the public internet");
  }
}

async function lookUpAddresses(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    return [];
  }
}

function refused(name: string, why: string): GatewayError {
  const message = `The server "${name}", which a registry names, is not asked for its tools: ${why}.`;
  return new GatewayError(SSRF_BLOCKED, message, { data: { server: name } });
}
