import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { GatewayError } from "../../core/mod.ts";
import {
  NEEDS_APPROVAL,
  type ServerHandle,
  type ServerOpenOptions,
  type Servers,
} from "../../core/services/servers.ts";
import type { Machine, ServerConfig } from "../../core/services/sources.ts";
import { isAllowed } from "../lib/http/address.ts";
import { SSRF_BLOCKED } from "../lib/http/errors.ts";
import { isLoopback } from "../lib/http/server-request.ts";
import { fillConnection } from "../lib/server-entry/expand.ts";
import { getVariable } from "../lib/server-entry/machine.ts";

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

const GENERIC_TOKEN = "MCP_AUTH_TOKEN";
const GITHUB_TOKEN = "GITHUB_MCP_TOKEN";
/** By name and not by ending: under some of GitHub's domains, anyone can publish. */
const githubHosts = new Set(["api.githubcopilot.com", "api.github.com", "github.com"]);
const credentialName = /auth|key|token|secret|cookie|password/i;

/**
 * Returns the name of the variable whose token a server may get if it asks for one. Only a server gets it that the user
 * configured, that has no other credential, and whose traffic no third party can read. The definition of a project or a
 * registry is not the user's: its author would be sent the user's token.
 */
export function findSpareToken(config: ServerConfig, machine: Machine): string | undefined {
  const { connection: written, origin } = config;
  if (isFound(config) || origin.scope === "project" || written.type === "stdio") return;
  const { connection } = fillConnection(config, machine);
  if (connection.type === "stdio" || !URL.canParse(connection.url)) return;
  const url = new URL(connection.url);
  const hasCredential =
    written.bearerEnv !== undefined ||
    written.oauth !== undefined ||
    url.username !== "" ||
    Object.keys(written.headers).some((name) => credentialName.test(name));
  const isPrivate = url.protocol === "https:" || isLoopback(url.hostname);
  if (hasCredential || !isPrivate) return;
  const isGithub = url.protocol === "https:" && githubHosts.has(url.hostname);
  const names = isGithub ? [GITHUB_TOKEN, GENERIC_TOKEN] : [GENERIC_TOKEN];
  return names.find((name) => getVariable(machine, name));
}

/** Name of the source of servers that a registry names. */
export const REGISTRY_SOURCE = "registry";

/** Whether a server comes from a registry, and not from the user. */
function isFound({ origin }: ServerConfig): boolean {
  return origin.source === REGISTRY_SOURCE;
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
