import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { GatewayError } from "../../core/mod.ts";
import {
  NEEDS_APPROVAL,
  type ServerHandle,
  type ServerOpenOptions,
  type Servers,
} from "../../core/services/servers.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { isAllowed } from "../lib/http/address.ts";
import { SSRF_BLOCKED } from "../lib/http/errors.ts";
import { isFound } from "../lib/server-entry/spare-token.ts";
import { quoteForShell } from "../lib/terminal/output.ts";

/** Opens a session with a server for one discovery. The caller closes it. */
export type OpenServer = (config: ServerConfig, options: ServerOpenOptions) => Promise<ServerHandle>;

/**
 * Creates the function that opens sessions on the connection pool. A server that a registry names is checked first, and
 * gets none of the user's variables: its publisher could name any of them and be sent the value.
 */
export function createOpenServer(servers: Pick<Servers, "open">, allowPrivate: boolean): OpenServer {
  return async (config, options) => {
    if (config.disabled) {
      const where = config.origin.file ?? config.origin.source;
      throw new GatewayError("DENIED", `The server "${config.name}" is switched off in ${where}.`);
    }
    if (!isFound(config)) return servers.open(config, options);
    await checkFound(config, allowPrivate);
    return servers.open(config, { ...options, env: "none" });
  };
}

/**
 * Refuses to ask a server that a registry named if that would run an untrusted program, or reach into a private
 * network. Over https a name that leads elsewhere a moment later still cannot be spoken to: what answers there
 * cannot prove that it has this name.
 */
async function checkFound(config: ServerConfig, allowPrivate: boolean): Promise<void> {
  const { name, connection } = config;
  if (connection.type === "stdio") {
    throw new GatewayError(
      NEEDS_APPROVAL,
      `The server "${name}" is a program, and is not started only because a registry names it. Add it with: toolpipe registry add ${quoteForShell(name)}`,
      { data: { server: name } },
    );
  }
  const url = URL.canParse(connection.url) ? new URL(connection.url) : undefined;
  if (url?.protocol !== "https:" && !(allowPrivate && url?.protocol === "http:")) {
    throw refused(name, "it is not reached over https");
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) ? [host] : await lookUpAddresses(host);
  // If a name does not resolve, the connection fails with the reason.
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
