import { isIP } from "node:net";
import { GatewayError } from "../../core/mod.ts";
import type { ServerHandle, ServerOpenOptions, Servers } from "../../core/services/servers.ts";
import type { Machine, ServerConfig } from "../../core/services/sources.ts";
import { fillConnection } from "../lib/server-entry/expand.ts";
import { variable } from "../lib/server-entry/machine.ts";
import { checkFound, isFound } from "./found-server.ts";

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
  return names.find((name) => variable(machine, name));
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
