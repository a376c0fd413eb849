import * as v from "valibot";
import {
  defineError,
  definePlugin,
  type ErrorKind,
  type Gateway,
  GatewayError,
  type PluginFactory,
  type Tool,
} from "../../core/mod.ts";
import type { Collected } from "../sources/collect.ts";
import { thisMachine } from "../sources/machine.ts";
import { definitionHash, type ServerConfig } from "../sources/server-config.ts";
import { stateFolder } from "../state/mod.ts";
import type {} from "../timeout.ts";
import { connectServer } from "./connect.ts";
import { CONNECT_FAILED, NEEDS_APPROVAL, NEEDS_AUTH } from "./errors.ts";
import { createFleet, type Fleet, type Member, placeOf } from "./fleet.ts";
import type { Held, ServerState, ServerStatus } from "./server-status.ts";
import { createSnapshot } from "./snapshot.ts";

export type { ServerState, ServerStatus } from "./server-status.ts";
export type { Listing, Upstream, UpstreamCallOptions, UpstreamEvents, UpstreamInfo } from "./upstream.ts";

/** Every server behind the gateway. */
export interface Upstreams {
  statuses(): readonly ServerStatus[];
  status(server: string): ServerStatus | undefined;
  /** Asks servers for their tools: one, or all. Failures are in their status. */
  refresh(server?: string): Promise<void>;
  /** Resolves once no server is being asked for its tools. */
  settled(): Promise<void>;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `upstreams`. */
    upstreams?: Upstreams;
  }
}

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
    gateway.services.upstreams = {
      statuses: () => fleet?.statuses() ?? [],
      status: (server) => fleet?.status(server),
      async refresh(server) {
        await fleet?.discover(server === undefined ? "all" : { name: server });
      },
      async settled() {
        await fleet?.settled();
      },
    };
    return {
      async ready() {
        const { cache, sources } = gateway.services;
        const collected = (await sources?.collect()) ?? { servers: [], files: [], warnings: [] };
        reportOn(gateway, collected);
        const owner = gateway.configFile ?? process.cwd();
        fleet = createFleet({
          gateway,
          members: await Promise.all(collected.servers.map((config) => toMember(gateway, config))),
          snapshot: useCache && cache ? createSnapshot(cache, owner) : undefined,
          freshMs: cache?.ttlMs ?? HOUR_MS,
          idleMs,
          concurrency,
          maxParallel: maxParallelDiscoveries,
        });
        await fleet.restore();
        // In the background: no one waits for a server that is slow or dead.
        if (discover !== "none") void fleet.discover(discover);
      },
      "tool:discover"(tool) {
        if (!tool.builtin) applyDefinition(tool, fleet?.status(tool.server)?.config);
      },
      async resolve(call) {
        // The first call may come before its server has said what it has. Then it is asked, and waited for.
        if (call.tool || gateway.catalog.tool(call.toolId)) return;
        const server = call.toolId.slice(0, Math.max(0, call.toolId.indexOf(":")));
        const before = fleet?.status(server);
        if (!before || before.listedAt !== undefined) return;
        // One that has just failed is not started again for every call.
        if (before.status !== "error" || fleet?.link(server)?.retryInMs === 0) await fleet?.ask(server);
        const after = fleet?.status(server);
        const kind = after && after.listedAt === undefined ? unusable[after.status] : undefined;
        if (kind) throw new GatewayError(kind, after?.reason ?? "", { data: { server } });
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
      async execute(call, next) {
        // A server may have the name of the gateway's own tools; it does not get their calls for that.
        const link = call.tool && !call.tool.builtin && fleet?.link(call.tool.server);
        if (!call.tool || !link) return next();
        // Where calls are timed, that is also where progress may prolong them: nothing here may end them first.
        const timeoutMs = gateway.services.timeouts
          ? NEVER_MS
          : fleet?.status(call.tool.server)?.config.callTimeoutMs;
        call.result = await link.call(call.tool.name, call.args, {
          signal: call.signal,
          onProgress: (progress) => call.report(progress),
          meta: call.meta,
          timeoutMs,
        });
      },
      close: () => fleet?.close(),
    };
  },
});

async function toMember(gateway: Gateway, config: ServerConfig): Promise<Member> {
  return {
    config,
    held: await holdBack(gateway, config),
    connect: (events, prior, signal) =>
      connectServer(config, {
        machine: thisMachine(),
        stateFolder: stateFolder(),
        events,
        prior,
        signal,
      }),
  };
}

/** What was found on the way to the servers, for whoever listens. */
function reportOn(gateway: Gateway, { files, warnings }: Pick<Collected, "files" | "warnings">): void {
  for (const { status, file, reason = "It cannot be read." } of files) {
    if (status === "broken") gateway.report(new GatewayError(SOURCE_BROKEN, reason, { data: { file } }));
  }
  for (const { code, message } of warnings) {
    gateway.report(new GatewayError(SOURCE_DOUBTFUL, message, { data: { warning: code } }));
  }
}

/** What stands in the store of approvals for a server: two projects may each have one of the same name. */
export function approvalOf(config: ServerConfig): { kind: string; name: string; hash: string } {
  return { kind: "server", name: placeOf(config), hash: definitionHash(config) };
}

/** Whoever can write into a project could otherwise run commands and read variables of whoever opens it. */
async function holdBack(gateway: Gateway, config: ServerConfig): Promise<Held | undefined> {
  const where = config.origin.file ?? config.origin.source;
  if (config.disabled) return { status: "disconnected", reason: `It is switched off in ${where}.` };
  if (config.origin.scope !== "project") return undefined;
  const why = await whyNotApproved(gateway, config);
  if (why === undefined) return undefined;
  return {
    status: "needs-approval",
    reason: `It is defined in the project file ${where}, and ${why}. Approve it with: toolpipe approve ${config.name}`,
  };
}

async function whyNotApproved(gateway: Gateway, config: ServerConfig): Promise<string | undefined> {
  const { approvals } = gateway.services;
  const { kind, name, hash } = approvalOf(config);
  try {
    const standing = await approvals?.status(kind, name, hash);
    if (standing === "approved") return undefined;
    await approvals?.request(kind, name, hash, summaryOf(config));
    return standing === "changed"
      ? "its definition has changed since it was approved"
      : "nobody has approved it yet";
  } catch (thrown) {
    // The other servers need no approval, so they go on.
    gateway.report(GatewayError.from(thrown, "The approvals could not be read."));
    return "whether it was approved cannot be found out";
  }
}

/** What would be used, without what may be secret: arguments, the values of variables, and what a URL holds besides a place. */
function summaryOf({ connection }: ServerConfig): string {
  if (connection.type !== "stdio") {
    return `A server at ${connection.url.replace(/^(\w+:\/\/)[^/]*@/, "$1").replace(/[?#].*$/s, "")}`;
  }
  const variables = Object.keys(connection.env);
  return `The command ${connection.command} with ${connection.args.length} arguments${
    variables.length > 0 ? ` and the variables ${variables.join(", ")}` : ""
  }`;
}

/** A definition may allow or forbid tools of its server. */
function applyDefinition(tool: Tool, config: ServerConfig | undefined): void {
  const { include, exclude } = config?.tools ?? {};
  const forbidden = exclude?.includes(tool.name) || (include && !include.includes(tool.name));
  if (!forbidden || !tool.enabled) return;
  tool.enabled = false;
  tool.disabledBecause = `It is not allowed by the definition of its server in ${config?.origin.file ?? config?.origin.source}.`;
}
