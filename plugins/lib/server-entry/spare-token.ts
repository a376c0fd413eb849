import type { Machine, ServerConfig } from "../../../core/services/sources.ts";
import { isLoopback } from "../http/server-request.ts";
import { fillConnection } from "./expand.ts";
import { getVariable } from "./machine.ts";

const GENERIC_TOKEN = "MCP_AUTH_TOKEN";
const GITHUB_TOKEN = "GITHUB_MCP_TOKEN";
/** By name and not by ending: under some of GitHub's domains, anyone can publish. */
const githubHosts = new Set(["api.githubcopilot.com", "api.github.com", "github.com"]);
const credentialName = /auth|key|token|secret|cookie|password/i;

/** Name of the source of servers that a registry names. */
export const REGISTRY_SOURCE = "registry";

/** Whether a server comes from a registry, and not from the user. */
export function isFound({ origin }: ServerConfig): boolean {
  return origin.source === REGISTRY_SOURCE;
}

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
