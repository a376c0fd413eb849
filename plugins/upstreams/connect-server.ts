import { type Gateway, GatewayError, type JsonObject } from "../../core/mod.ts";
import type { ServerOpenOptions, Upstream, UpstreamEvents } from "../../core/services/servers.ts";
import type { Connection, HttpConnection, ServerConfig } from "../../core/services/sources.ts";
import { checkDriverFields } from "../lib/driver-choice.ts";
import { sha256Hex } from "../lib/hash.ts";
import {
  createRedactor,
  findConnectionSecrets,
  findSecretArguments,
  type Redact,
  redactError,
  redactResult,
} from "../lib/redact.ts";
import { expandConnection } from "../lib/server-entry/expand.ts";
import { getVariable, thisMachine } from "../lib/server-entry/machine.ts";
import { findSpareToken } from "../lib/server-entry/spare-token.ts";

/** Options of one connection attempt. */
export interface ConnectServerOptions extends Omit<ServerOpenOptions, "signal"> {
  readonly events: UpstreamEvents;
  /** Result of an earlier handshake with the same server. */
  readonly prior: unknown;
  /** Aborts the attempt. */
  readonly signal: AbortSignal;
  /** Client capabilities that a server of the legacy protocol is told of. */
  readonly capabilities: Readonly<JsonObject>;
}

/**
 * Connects to a server through the driver of its kind. Variables are filled in only now, so that no secret is kept in
 * memory longer than needed.
 */
export async function connectServer(
  config: ServerConfig,
  gateway: Pick<Gateway, "driver" | "drivers">,
  { headers, env = "user", events, ...options }: ConnectServerOptions,
): Promise<Upstream> {
  const { type, driver: own } = config.connection;
  const driver =
    own === undefined ? gateway.drivers("upstream").get(type) : await gateway.driver("upstream", own);
  if (!driver) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `Cannot connect to "${config.name}": no plugin connects to servers of the type "${type}". Add the plugin that does.`,
      { data: { server: config.name } },
    );
  }
  if (own !== undefined) checkDriverFields("upstream", own, driver, { connect: "function" });
  const machine = env === "none" ? { ...thisMachine(), env: {} } : thisMachine();
  const expanded = await expandConnection(replaceHeaders(config, headers), machine);
  const connection = addHeaders(expanded, headers);
  const variable = headers === undefined ? findSpareToken(config, machine) : undefined;
  const spareToken = variable === undefined ? undefined : getVariable(machine, variable);
  const secrets = [...findConnectionSecrets(connection), ...(spareToken === undefined ? [] : [spareToken])];
  return redactFailures(secrets, events, (redacted) =>
    driver.connect({ ...config, connection }, { ...options, spareToken, events: redacted }),
  );
}

/** Returns a hash of a definition as it is now, with its variables filled in and its files read. */
export async function fingerprintServer(config: ServerConfig): Promise<string> {
  return sha256Hex(JSON.stringify(await expandConnection(config, thisMachine())));
}

/** Removes the credentials of a definition that the headers of the caller replace. */
function replaceHeaders(config: ServerConfig, headers: ServerOpenOptions["headers"] = {}): ServerConfig {
  const { connection } = config;
  if (connection.type === "stdio") return config;
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  const { bearerEnv, ...rest } = connection;
  return {
    ...config,
    connection: {
      ...rest,
      ...(bearerEnv !== undefined && !isGiven && { bearerEnv }),
      // A header that is replaced needs no variable.
      headers: Object.fromEntries(omitHeaders(headers, connection.headers)),
    },
  };
}

/** Adds the caller's headers letter by letter: after the expansion, so that nothing in them is taken for a variable. */
function addHeaders(connection: Connection, headers: ServerOpenOptions["headers"] = {}): Connection {
  if (connection.type === "stdio") return connection;
  return { ...connection, headers: { ...connection.headers, ...headers } } satisfies HttpConnection;
}

function omitHeaders(
  replaced: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
): [string, string][] {
  const names = new Set(Object.keys(replaced).map((name) => name.toLowerCase()));
  return Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase()));
}

/**
 * Redacts the secrets that a server was given from its failures: its errors are sent to agents, written to logs and
 * kept in the status of the server.
 */
async function redactFailures(
  secrets: readonly string[],
  events: UpstreamEvents,
  connect: (events: UpstreamEvents) => Promise<Upstream>,
): Promise<Upstream> {
  const redact = createRedactor(secrets);
  const reject = (thrown: unknown): Promise<never> => Promise.reject(toRedacted(thrown, redact));
  const { onClosed } = events;
  const redacted: UpstreamEvents = {
    ...events,
    ...(onClosed && { onClosed: (reason: string) => onClosed(redact(reason)) }),
  };
  const upstream = await connect(redacted).catch(reject);
  const { request } = upstream;
  // Created only after a failure: most calls do not fail.
  const redactCall = (args: JsonObject): Redact => createRedactor([...secrets, ...findSecretArguments(args)]);
  return {
    ...upstream,
    list: (...given) => upstream.list(...given).catch(reject),
    call(name, args, options) {
      return upstream.call(name, args, options).then(
        (result) => (result.isError === true ? redactResult(result, redactCall(args)) : result),
        (thrown: unknown) => Promise.reject(toRedacted(thrown, redactCall(args))),
      );
    },
    ...(request && {
      request: (...given: Parameters<typeof request>) => request(...given).catch(reject),
    }),
  };
}

function toRedacted(thrown: unknown, redact: Redact): unknown {
  return GatewayError.is(thrown) ? redactError(thrown, redact) : thrown;
}
