import { isIP } from "node:net";
import { GatewayError } from "../../core/mod.ts";
import { fillConnection } from "../sources/expand.ts";
import { type Machine, thisMachine, variable } from "../sources/machine.ts";
import type { HttpConnection, ServerConfig } from "../sources/server-config.ts";
import { stateFolder } from "../state/folders.ts";
import { connectServer } from "../upstreams/connect.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import { checkFound, isFound } from "./found-server.ts";

/** Opens a session with a server. Whoever opens one closes it. */
export type OpenSession = (config: ServerConfig, options: SessionOptions) => Promise<Upstream>;

/** How a session is opened. */
export interface SessionOptions {
  /** Sent in place of what the definition says of the same headers. */
  readonly authHeaders?: Readonly<Record<string, string>> | undefined;
  /** The name of the variable whose token proves who we are; see {@link spareToken}. */
  readonly bearerEnv?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What sessions are opened with. */
export interface SessionParts {
  readonly machine?: (() => Machine) | undefined;
  /** Where logins are kept; the person's state folder by default. */
  readonly stateFolder?: string | undefined;
  /** Whether servers that a registry named may be on this machine or in a private network; false by default. */
  readonly allowPrivate?: boolean | undefined;
}

/** Makes what opens sessions for the time of one discovery, by whatever a definition says. */
export function sessionOpener(parts: SessionParts = {}): OpenSession {
  const { machine = thisMachine, allowPrivate = false } = parts;
  return async (config, { authHeaders, bearerEnv, signal = new AbortController().signal }) => {
    if (config.disabled) {
      const where = config.origin.file ?? config.origin.source;
      throw new GatewayError("DENIED", `The server "${config.name}" is switched off in ${where}.`);
    }
    if (isFound(config)) await checkFound(config, allowPrivate);
    // Who publishes in a registry must not be able to name variables of ours and be sent what they hold.
    const own = isFound(config) ? { ...machine(), env: {} } : machine();
    const given = withHeaders(bearerEnv === undefined ? config : withBearer(config, bearerEnv), authHeaders);
    return connectServer(given.config, {
      machine: { ...own, env: { ...own.env, ...given.env } },
      stateFolder: parts.stateFolder ?? stateFolder(),
      events: {},
      prior: undefined,
      signal,
    });
  };
}

function withBearer(config: ServerConfig, bearerEnv: string): ServerConfig {
  const { connection } = config;
  return connection.type === "stdio" ? config : { ...config, connection: { ...connection, bearerEnv } };
}

/** Headers as variables: so nothing in them is taken for a variable, and no definition holds a secret. */
function withHeaders(
  config: ServerConfig,
  headers: Readonly<Record<string, string>> | undefined,
): { config: ServerConfig; env: Record<string, string> } {
  const { connection } = config;
  if (headers === undefined || connection.type === "stdio") return { config, env: {} };
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const kept = Object.entries(connection.headers).filter(([name]) => !names.has(name.toLowerCase()));
  const env: Record<string, string> = {};
  const added = Object.entries(headers).map(([name, value], index) => {
    env[`TOOLPIPE_AUTH_HEADER_${index}`] = value;
    return [name, `\${TOOLPIPE_AUTH_HEADER_${index}}`] as const;
  });
  const { bearerEnv, ...rest } = connection;
  const replaced: HttpConnection = {
    ...rest,
    ...(bearerEnv !== undefined && !names.has("authorization") && { bearerEnv }),
    headers: Object.fromEntries([...kept, ...added]),
  };
  return { config: { ...config, connection: replaced }, env };
}

const GENERIC = "MCP_AUTH_TOKEN";
const OF_GITHUB = "GITHUB_MCP_TOKEN";
/** By name and not by ending: under some of GitHub's domains, anyone can publish. */
const githubHosts = new Set(["api.githubcopilot.com", "api.github.com", "github.com"]);
const proving = /auth|key|token|secret|cookie|password/i;

/**
 * The name of the variable whose token a server may get that asks for one. Only a server gets it that the person
 * configured, that has nothing else to know us by, and that is reached so that nobody on the way can read it. The
 * definition of a project, or of a registry, is not the person's: who wrote it would be sent their token.
 */
export function spareToken(config: ServerConfig, machine: Machine): string | undefined {
  if (isFound(config) || config.origin.scope === "project" || config.connection.type === "stdio") return;
  const { connection: written } = config;
  const { connection } = fillConnection(config, machine);
  if (connection.type === "stdio" || !URL.canParse(connection.url)) return;
  const url = new URL(connection.url);
  const hasOwn =
    written.bearerEnv !== undefined ||
    written.oauth !== undefined ||
    url.username !== "" ||
    Object.keys(written.headers).some((name) => proving.test(name));
  if (hasOwn) return;
  const isSecret = url.protocol === "https:" || isLoopback(url.hostname);
  if (!isSecret) return;
  const names = url.protocol === "https:" && githubHosts.has(url.hostname) ? [OF_GITHUB, GENERIC] : [GENERIC];
  return names.find((name) => variable(machine, name));
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
