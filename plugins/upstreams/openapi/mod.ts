/**
 * REST APIs as tools: every operation of an OpenAPI document can be found and called like any other tool.
 *
 * @module
 */
import {
  definePlugin,
  type Gateway,
  GatewayError,
  type PluginFactory,
  type Tool,
  type ToolDefinition,
} from "../../../core/mod.ts";
import { requestMeta } from "../../guard/request-meta.ts";
import type {} from "../../timeout.ts";
import { DOCUMENT_BROKEN } from "./errors.ts";
import { createLiveAdapter, type LiveAdapter } from "./live-adapter.ts";
import type { BuiltOperation } from "./operations.ts";
import { type OpenApiOptions, openapiOptions } from "./options.ts";

export { httpStatusMeta } from "./answer.ts";
export type { Adapter, Adapters, AuthType, Operation, OperationError } from "./operation.ts";
export type { AdapterOptions, Credential, OpenApiOptions, Overlay } from "./options.ts";

/** A document that could not be fetched is asked for again after this long, once somebody needs it. */
const AGAIN_MS = 30_000;

/** An operation and the API it belongs to. */
interface Known extends BuiltOperation {
  readonly adapter: LiveAdapter;
}

/**
 * Reads the documents of APIs, keeps their operations in the catalog, and sends the requests that calls of them
 * become. A call that is only to be shown is answered with the request that would be sent.
 */
export const openapi: PluginFactory<"openapi", OpenApiOptions, Required<OpenApiOptions>> = definePlugin({
  name: "openapi",
  order: "post",
  keys: ["adapters"],
  options: openapiOptions,
  setup(gateway, { adapters, overlays }) {
    const live = new Map(
      Object.entries(adapters).map(([id, options]) => {
        const overlay = Object.hasOwn(overlays, id) ? overlays[id] : undefined;
        return [id, createLiveAdapter({ id, options, overlay, configFile: gateway.configFile })];
      }),
    );
    // By the very schema that was handed to the catalog: a name may be another server's too.
    const operations = new WeakMap<object, Known>();
    const loading = new Map<string, Promise<void>>();
    const failedAt = new Map<string, number>();
    const knownOf = (tool: ToolDefinition | undefined): Known | undefined =>
      tool && operations.get(tool.inputSchema);

    gateway.services.adapters = {
      list: () => [...live.values()].map((adapter) => adapter.info()),
      get: (id) => live.get(id)?.info(),
      operationOf: (tool) => knownOf(tool)?.operation,
      async settled() {
        await Promise.all(loading.values());
      },
    };

    async function load(adapter: LiveAdapter): Promise<void> {
      try {
        const built = await adapter.load((place, cause) => {
          gateway.report(
            new GatewayError(
              DOCUMENT_BROKEN,
              `"${adapter.id}" has an operation that cannot be used: ${place}.`,
              {
                cause,
              },
            ),
          );
        });
        for (const one of built) operations.set(one.definition.inputSchema, { ...one, adapter });
        await publish(gateway, adapter, built);
      } catch (thrown) {
        failedAt.set(adapter.id, Date.now());
        gateway.report(GatewayError.from(thrown, `The adapter "${adapter.id}" cannot be used.`));
      }
    }

    function begin(adapter: LiveAdapter): void {
      loading.set(
        adapter.id,
        load(adapter).finally(() => loading.delete(adapter.id)),
      );
    }

    return {
      async ready() {
        for (const adapter of live.values()) begin(adapter);
        // A file is read at once; nobody waits for a server that is slow or dead.
        const files = [...live.values()].filter(({ isRemote }) => !isRemote);
        await Promise.all(files.map(({ id }) => loading.get(id)));
      },
      "tool:discover"(tool) {
        enrich(tool, knownOf(tool));
      },
      async resolve(call) {
        if (call.tool || gateway.catalog.tool(call.toolId)) return;
        const id = call.toolId.slice(0, Math.max(0, call.toolId.indexOf(":")));
        const adapter = live.get(id);
        if (!adapter) return;
        // The server of its document may be there again.
        const isTried = loading.has(id) || Date.now() - (failedAt.get(id) ?? Date.now()) < AGAIN_MS;
        if (adapter.isRemote && !isTried) begin(adapter);
        await loading.get(id);
        const { problem } = adapter.info();
        if (problem !== undefined)
          throw new GatewayError(DOCUMENT_BROKEN, problem, { data: { adapter: id } });
      },
      policy({ tool }) {
        // Where there are no rules, nobody else would keep it from being called.
        if (tool?.enabled !== false || !knownOf(tool)) return;
        throw new GatewayError("DENIED", `"${tool.id}" is disabled. ${tool.disabledBecause ?? ""}`.trimEnd());
      },
      async execute(call, next) {
        const known = call.tool?.builtin ? undefined : knownOf(call.tool);
        if (!known) return next();
        const { adapter, plan } = known;
        if (call.meta[requestMeta.dryRun] === true) {
          const request = await adapter.show(plan, call);
          const value = { dry_run: true, request };
          call.via = "dry run";
          call.result = {
            content: [{ type: "text", text: JSON.stringify(value) }],
            structuredContent: value,
          };
          return;
        }
        call.result = await adapter.execute(plan, call, {
          isTimed: gateway.services.timeouts !== undefined,
          trace: gateway.services.telemetry?.contextOf(call),
        });
      },
      async close() {
        await Promise.all([...live.values()].map((adapter) => adapter.close()));
      },
    };
  },
});

function enrich(tool: Tool, known: Known | undefined): void {
  if (!known || tool.builtin) return;
  tool.operation = known.operation;
  tool.tags = [...new Set([...tool.tags, ...known.tags])];
}

async function publish(
  gateway: Gateway,
  adapter: LiveAdapter,
  built: readonly BuiltOperation[],
): Promise<void> {
  const { id } = adapter;
  if (gateway.catalog.server(id)) {
    const message = `The adapter "${id}" is not used: there is already a server of this name. Give it another.`;
    throw new GatewayError("CONFIG_INVALID", message, { data: { adapter: id } });
  }
  const { name, description } = adapter.info();
  const server = { id, title: name, description };
  const { rejected } = await gateway.catalog.replace(
    server,
    built.map(({ definition }) => definition),
  );
  for (const tool of rejected) {
    const message = `"${id}" has an operation that cannot be used: "${tool.name}": ${tool.reason}.`;
    gateway.report(new GatewayError(DOCUMENT_BROKEN, message));
  }
}
