import * as v from "valibot";
import { LONGEST_TIMER_MS } from "../../core/hooks.ts";
import {
  type Call,
  type CallInput,
  defineError,
  definePlugin,
  type ErrorKind,
  type Gateway,
  GatewayError,
  type Tool,
} from "../../core/mod.ts";
import type { Clients } from "../../core/services/clients.ts";
import {
  CONNECT_FAILED,
  MISSING_VARIABLE,
  NEEDS_APPROVAL,
  NEEDS_AUTH,
  QUESTION_REFUSED,
  RESPONSE_TOO_DEEP,
  RESPONSE_TOO_LARGE,
  type ServerState,
  TLS_ERROR,
  UPSTREAM_CLOSED,
  UPSTREAM_ERROR,
  UPSTREAM_PROTOCOL,
} from "../../core/services/servers.ts";
import type { Collected, ServerConfig } from "../../core/services/sources.ts";
import type { Telemetry } from "../../core/services/telemetry.ts";
import { option, wholeNumber } from "../lib/options.ts";
import { replaceTraceContext } from "../lib/telemetry.ts";
import { createServerApprovals, holdBack } from "./approval.ts";
import { createPool } from "./pool.ts";
import { sendRequest } from "./request-tools.ts";
import { sendWithInput, ToolCall, toOutcomeError } from "./send-call.ts";
import { createSnapshot } from "./snapshot.ts";

export type { ServerEvents, Servers } from "../../core/services/servers.ts";

export const SOURCE_BROKEN: ErrorKind = defineError("SOURCE_BROKEN", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
  description: "A file that defines servers cannot be read; the other files are used.",
});
export const SOURCE_DOUBTFUL: ErrorKind = defineError("SOURCE_DOUBTFUL", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
  description: "A server is not used as it is defined, for example because another one has its name.",
});

const count = wholeNumber(1);
const options = v.strictObject({
  useCache: option(
    v.boolean(),
    "Whether listings are cached from one start to the next, if there is a cache.",
    false,
  ),
  discover: option(
    v.picklist(["stale", "missing", "none"]),
    "Servers that are listed at the start: those whose listing is old, those without one, or none.",
    "stale",
  ),
  idleMs: option(count, "Milliseconds without use after which a connection is closed.", 300_000),
  concurrency: option(count, "Calls in flight to one server; further calls wait.", 16),
  maxOpen: option(
    count,
    "Connections that stay open, each of which may be a process: beyond it, the one that was not used for longest is closed. One that is in use stays.",
    32,
  ),
  maxSilentTimeouts: option(
    count,
    "Calls in a row that time out while their server sends nothing. Then it is asked whether it still works, and is ended and started again if it does not answer within 2 s.",
    3,
  ),
  maxParallelDiscoveries: option(count, "Servers that are listed at once.", 5),
});

/** Options for the upstreams plugin. */
export type UpstreamsOptions = v.InferInput<typeof options>;

const HOUR_MS = 3_600_000;

/** Errors of a call to a server whose tools are unknown, by the state of the server. */
const stateErrors: Readonly<Partial<Record<ServerState, ErrorKind>>> = {
  error: CONNECT_FAILED,
  "needs-approval": NEEDS_APPROVAL,
  "needs-auth": NEEDS_AUTH,
};

/** Connects to the servers that the sources name, keeps their tools in the catalog, and executes calls on them. */
export const upstreams = definePlugin({
  name: "upstreams",
  order: "post",
  uses: ["sources", "approvals", "cache?", "telemetry?", "clients?"],
  provides: ["servers"],
  options,
  errors: {
    SOURCE_BROKEN,
    SOURCE_DOUBTFUL,
    CONNECT_FAILED,
    TLS_ERROR,
    UPSTREAM_CLOSED,
    UPSTREAM_PROTOCOL,
    UPSTREAM_ERROR,
    QUESTION_REFUSED,
    RESPONSE_TOO_LARGE,
    RESPONSE_TOO_DEEP,
    NEEDS_AUTH,
    NEEDS_APPROVAL,
    MISSING_VARIABLE,
  },
  setup(gateway, { useCache, discover, maxParallelDiscoveries, ...limits }) {
    const { cache } = gateway.services;
    /** Read with the first call, when all plugins are set up. */
    let found:
      | { readonly telemetry?: Telemetry | undefined; readonly clients?: Clients | undefined }
      | undefined;
    const pool = createPool({
      gateway,
      previous: gateway.previous?.services.servers,
      async fingerprint(config) {
        const { fingerprintServer } = await import("./connect-server.ts");
        return fingerprintServer(config);
      },
      snapshot: useCache && cache ? createSnapshot(cache, gateway.configFile ?? process.cwd()) : undefined,
      freshMs: cache?.ttlMs ?? HOUR_MS,
      ...limits,
      maxParallel: maxParallelDiscoveries,
      async connect(config, attempt) {
        // Loaded with the first connection: a start with cached listings opens none.
        const { connectServer } = await import("./connect-server.ts");
        return connectServer(config, gateway, attempt);
      },
      check: (config) => holdBack(gateway, config),
    });
    let hasDeclaredTools = false;
    gateway.provide("servers", pool);
    gateway.register("approval", "server", createServerApprovals(gateway));
    return {
      async ready() {
        const collected = await gateway.services.sources.collect();
        reportProblems(gateway, collected);
        hasDeclaredTools = collected.servers.some(({ declaredTools }) => declaredTools !== undefined);
        await pool.start(collected.servers);
        // In the background: the start does not wait for a slow or dead server.
        if (discover !== "none") void pool.discover(discover);
      },
      "tool:discover"(tool) {
        if (!tool.builtin) applyDefinition(tool, pool.status(tool.server)?.config);
      },
      resolve(call) {
        pool.refreshStale();
        // The first call may come before its server is listed. Then the call waits for the listing; so does one of a
        // tool that only the config describes.
        const isKnown = call.tool || gateway.catalog.tool(call.toolId);
        return isKnown && !hasDeclaredTools ? undefined : waitForListing(call);
      },
      execute(call, next) {
        const { tool, args } = call;
        // A server may have the same name as the gateway's own tools; their calls do not go to it.
        const connection = tool && !tool.builtin && pool.connection(tool.server);
        if (!tool || !connection) return next();
        // With the plugin `timeout`, progress may prolong a call: no other limit may end the call first.
        const timeoutMs = call.isTimed ? LONGEST_TIMER_MS : pool.status(tool.server)?.config.callTimeoutMs;
        found ??= { telemetry: gateway.services.telemetry, clients: gateway.services.clients };
        const trace = found.telemetry?.getContext(call);
        const meta = trace ? replaceTraceContext(call.meta, trace) : call.meta;
        const options = new ToolCall(call, tool.server, meta, timeoutMs, found.clients);
        const send = (input: CallInput | undefined) =>
          tool.request
            ? sendRequest(connection, tool.request, args, options.with(input))
            : connection.call(tool.name, args, options.with(input));
        return sendWithInput(send, options).then(
          (result) => {
            call.result = result;
          },
          (thrown) => Promise.reject(toOutcomeError(call, thrown)),
        );
      },
      close: () => pool.close(),
    };

    async function waitForListing(call: Call): Promise<void> {
      const server = call.toolId.slice(0, Math.max(0, call.toolId.indexOf(":")));
      const before = pool.status(server);
      if (!before) return;
      // The listing may still be on its way into the catalog.
      if (before.listedAt !== undefined) return pool.settled(server);
      // A server that has just failed is not started again for every call.
      if (before.status !== "error" || pool.connection(server)?.retryInMs === 0) await pool.list(server);
      const after = pool.status(server);
      const kind = after && after.listedAt === undefined ? stateErrors[after.status] : undefined;
      if (kind) throw new GatewayError(kind, after?.reason ?? "", { data: { server } });
    }
  },
});

/** Reports the problems that the sources have found. */
function reportProblems(gateway: Gateway, { files, warnings }: Pick<Collected, "files" | "warnings">): void {
  for (const { status, file, reason = "It cannot be read." } of files) {
    if (status === "broken") gateway.report(new GatewayError(SOURCE_BROKEN, reason, { data: { file } }));
  }
  for (const { code, message } of warnings) {
    gateway.report(new GatewayError(SOURCE_DOUBTFUL, message, { data: { warning: code } }));
  }
}

/** Disables a tool that the definition of its server does not allow. */
function applyDefinition(tool: Tool, config: ServerConfig | undefined): void {
  const { include, exclude } = config?.tools ?? {};
  const forbidden = exclude?.includes(tool.name) || (include && !include.includes(tool.name));
  if (!forbidden || !tool.enabled) return;
  tool.enabled = false;
  tool.disabledBecause = `It is not allowed by the definition of its server in ${config?.origin.file ?? config?.origin.source}.`;
}
