import * as v from "valibot";
import {
  type Call,
  type CallInput,
  defineError,
  definePlugin,
  type ErrorKind,
  type Gateway,
  GatewayError,
  type PluginFactory,
  type Tool,
} from "../../core/mod.ts";
import type { Collected } from "../sources/collect.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import { metaWithContext } from "../telemetry/trace-context.ts";
import type {} from "../timeout.ts";
import { lostCall } from "./_lost-call.ts";
import { memberOf } from "./_member-of.ts";
import { ToolCall } from "./_tool-call.ts";
import { CONNECT_FAILED, NEEDS_APPROVAL, NEEDS_AUTH } from "./errors.ts";
import { createFleet, type Fleet } from "./fleet.ts";
import { answerTo } from "./implied-tool.ts";
import { throughQuestions } from "./questions.ts";
import type { ServerState } from "./server-status.ts";
import { createService } from "./service.ts";
import { createSnapshot } from "./snapshot.ts";

export { approvalOf } from "./approval.ts";
export { impliedTool } from "./implied-tool.ts";
export type { ServerState, ServerStatus } from "./server-status.ts";
export type { OfferListener, Upstreams } from "./service.ts";
export type {
  Listing,
  Upstream,
  UpstreamCallOptions,
  UpstreamEvents,
  UpstreamInfo,
  UpstreamMethod,
  UpstreamRequestOptions,
} from "./upstream.ts";

/** A file that defines servers cannot be read; the others are. */
export const SOURCE_BROKEN: ErrorKind = defineError("SOURCE_BROKEN", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
});
/** A server is not used as it is defined: another one has its name, say. */
export const SOURCE_DOUBTFUL: ErrorKind = defineError("SOURCE_DOUBTFUL", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
});

/** The options of {@link upstreams}. */
export interface UpstreamsOptions {
  /** Whether the catalog is remembered from one start to the next, if the plugin `cache` is there; false by default. */
  readonly useCache?: boolean;
  /** Which servers are asked for their tools at the start: those whose answer is too old, those never seen, or none. */
  readonly discover?: "stale" | "missing" | "none";
  /** A connection nobody uses is closed after this long; 5 minutes by default. */
  readonly idleMs?: number;
  /** Calls at once to one server; 16 by default. */
  readonly concurrency?: number;
  /** Servers that are asked for their tools at once; 5 by default. */
  readonly maxParallelDiscoveries?: number;
}

const count = v.pipe(v.number(), v.integer(), v.minValue(1, "a whole number, 1 or more"));
const options = v.strictObject({
  useCache: v.optional(v.boolean(), false),
  discover: v.optional(v.picklist(["stale", "missing", "none"]), "stale"),
  idleMs: v.optional(count, 300_000),
  concurrency: v.optional(count, 16),
  maxParallelDiscoveries: v.optional(count, 5),
});

const HOUR_MS = 3_600_000;
/** The longest that a timer can hold. */
const NEVER_MS = 2 ** 31 - 1;

/** What a call of a server fails with that could not be asked what it has. */
const unusable: Readonly<Partial<Record<ServerState, ErrorKind>>> = {
  error: CONNECT_FAILED,
  "needs-approval": NEEDS_APPROVAL,
  "needs-auth": NEEDS_AUTH,
};

/** Connects to the servers that the sources name, keeps their tools in the catalog, and executes calls on them. */
export const upstreams: PluginFactory<
  "upstreams",
  UpstreamsOptions,
  Required<UpstreamsOptions>
> = definePlugin({
  name: "upstreams",
  order: "post",
  needs: ["sources", "approvals"],
  options: options as v.GenericSchema<UpstreamsOptions, Required<UpstreamsOptions>>,
  setup(gateway, { useCache, discover, idleMs, concurrency, maxParallelDiscoveries }) {
    let fleet: Fleet | undefined;
    const service = createService(gateway, () => fleet);
    gateway.services.upstreams = service;
    return {
      async ready() {
        const { cache, sources } = gateway.services;
        const collected = (await sources?.collect()) ?? { servers: [], files: [], warnings: [] };
        reportOn(gateway, collected);
        const owner = gateway.configFile ?? process.cwd();
        fleet = createFleet({
          gateway,
          members: await Promise.all(collected.servers.map((config) => memberOf(gateway, config))),
          snapshot: useCache && cache ? createSnapshot(cache, owner) : undefined,
          freshMs: cache?.ttlMs ?? HOUR_MS,
          idleMs,
          concurrency,
          maxParallel: maxParallelDiscoveries,
          ...service.telling,
        });
        await fleet.restore();
        // In the background: no one waits for a server that is slow or dead.
        if (discover !== "none") void fleet.discover(discover);
      },
      "tool:discover"(tool) {
        if (!tool.builtin) applyDefinition(tool, fleet?.status(tool.server)?.config);
      },
      resolve(call) {
        // The first call may come before its server has said what it has. Then it is asked, and waited for.
        return call.tool || gateway.catalog.tool(call.toolId) ? undefined : look(call);
      },
      policy({ tool }) {
        // Where there are no rules, nobody else would keep it from being called.
        if (tool?.enabled === false && !tool.builtin && fleet?.link(tool.server)) {
          throw new GatewayError(
            "DENIED",
            `"${tool.id}" is disabled. ${tool.disabledBecause ?? ""}`.trimEnd(),
          );
        }
      },
      execute(call, next) {
        // A server may have the name of the gateway's own tools; it does not get their calls for that.
        const link = call.tool && !call.tool.builtin && fleet?.link(call.tool.server);
        if (!call.tool || !link) return next();
        // Where calls are timed, that is also where progress may prolong them: nothing here may end them first.
        const timeoutMs = gateway.services.timeouts
          ? NEVER_MS
          : fleet?.status(call.tool.server)?.config.callTimeoutMs;
        const { tool, args } = call;
        const meta = metaWithContext(call.meta, gateway.services.telemetry?.contextOf(call));
        const options = new ToolCall(call, tool.server, meta, timeoutMs, gateway.services.clients);
        const send = (input: CallInput | undefined) =>
          tool.request
            ? answerTo(link, tool.request, args, options.with(input))
            : link.call(tool.name, args, options.with(input));
        return throughQuestions(send, options).then(
          (result) => {
            call.result = result;
          },
          (thrown) => Promise.reject(lostCall(call, tool, thrown)),
        );
      },
      close: () => fleet?.close(),
    };

    async function look(call: Call): Promise<void> {
      const server = call.toolId.slice(0, Math.max(0, call.toolId.indexOf(":")));
      const before = fleet?.status(server);
      if (!before) return;
      // What it has said may still be on its way into the catalog.
      if (before.listedAt !== undefined) return service.published(server);
      // One that has just failed is not started again for every call.
      if (before.status !== "error" || fleet?.link(server)?.retryInMs === 0) await fleet?.ask(server);
      const after = fleet?.status(server);
      const kind = after && after.listedAt === undefined ? unusable[after.status] : undefined;
      if (kind) throw new GatewayError(kind, after?.reason ?? "", { data: { server } });
    }
  },
});

/** What was found on the way to the servers, for whoever listens. */
function reportOn(gateway: Gateway, { files, warnings }: Pick<Collected, "files" | "warnings">): void {
  for (const { status, file, reason = "It cannot be read." } of files) {
    if (status === "broken") gateway.report(new GatewayError(SOURCE_BROKEN, reason, { data: { file } }));
  }
  for (const { code, message } of warnings) {
    gateway.report(new GatewayError(SOURCE_DOUBTFUL, message, { data: { warning: code } }));
  }
}

/** A definition may allow or forbid tools of its server. */
function applyDefinition(tool: Tool, config: ServerConfig | undefined): void {
  const { include, exclude } = config?.tools ?? {};
  const forbidden = exclude?.includes(tool.name) || (include && !include.includes(tool.name));
  if (!forbidden || !tool.enabled) return;
  tool.enabled = false;
  tool.disabledBecause = `It is not allowed by the definition of its server in ${config?.origin.file ?? config?.origin.source}.`;
}
