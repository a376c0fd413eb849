/**
 * REST APIs as tools: every operation of an OpenAPI document can be found and called like any other tool.
 *
 * @module
 */
import { definePlugin, type Gateway, GatewayError, type ToolDefinition } from "../../core/mod.ts";
import { requestMeta } from "../../core/services/policy.ts";
import { DOCUMENT_BROKEN } from "./document.ts";
import { createLiveAdapter, type LiveAdapter } from "./live-adapter.ts";
import type { BuiltOperation } from "./operations.ts";
import { openapiOptions } from "./options.ts";

export {
  type AdapterOptions,
  type Credential,
  type OpenApiOptions,
  openapiOptions,
} from "./options.ts";

/** Time after which a document that could not be fetched is requested again, if a call needs it. */
const RETRY_MS = 30_000;

/** An operation with its API. */
interface Known extends BuiltOperation {
  readonly adapter: LiveAdapter;
}

/**
 * Reads the documents of APIs, keeps their operations in the catalog, and sends the requests of calls. A dry run returns
 * the request without sending it.
 */
export const openapi = definePlugin({
  name: "openapi",
  uses: ["state?", "telemetry?"],
  provides: ["adapters"],
  order: "post",
  keys: ["adapters"],
  options: openapiOptions,
  errors: { DOCUMENT_BROKEN },
  setup(gateway, { adapters, overlays }) {
    const live = new Map(
      Object.entries(adapters).map(([id, options]) => {
        const { configFile, services } = gateway;
        return [id, createLiveAdapter({ id, options, known: overlays, configFile, store: services.state })];
      }),
    );
    // Keyed by the schema object that the catalog keeps: unlike a name, it cannot belong to a tool of another server.
    const operations = new WeakMap<object, Known>();
    const loading = new Map<string, Promise<void>>();
    const failedAt = new Map<string, number>();
    const findKnown = (tool: ToolDefinition | undefined): Known | undefined =>
      tool && operations.get(tool.inputSchema);

    gateway.provide("adapters", {
      list: () => [...live.values()].map((adapter) => adapter.info()),
      get: (id) => live.get(id)?.info(),
      findOperation: (tool) => findKnown(tool)?.operation,
      async settled() {
        await Promise.all(loading.values());
      },
    });

    async function load(adapter: LiveAdapter): Promise<void> {
      try {
        const built = await adapter.load((place, cause) => {
          const message = `"${adapter.id}" has an operation that cannot be used: ${place}.`;
          gateway.report(new GatewayError(DOCUMENT_BROKEN, message, { cause }));
        });
        for (const one of built) operations.set(one.definition.inputSchema, { ...one, adapter });
        await publish(gateway, adapter, built);
      } catch (thrown) {
        failedAt.set(adapter.id, Date.now());
        gateway.report(GatewayError.from(thrown, `The adapter "${adapter.id}" cannot be used.`));
      }
    }

    function startLoading(adapter: LiveAdapter): void {
      loading.set(
        adapter.id,
        load(adapter).finally(() => loading.delete(adapter.id)),
      );
    }

    return {
      async ready() {
        for (const adapter of live.values()) startLoading(adapter);
        // A file is read at once; the start does not wait for a slow or dead server.
        const files = [...live.values()].filter(({ isRemote }) => !isRemote);
        await Promise.all(files.map(({ id }) => loading.get(id)));
      },
      "tool:discover"(tool) {
        const known = tool.builtin ? undefined : findKnown(tool);
        if (!known) return;
        tool.operation = known.operation;
        tool.tags = [...new Set([...tool.tags, ...known.tags])];
      },
      async resolve(call) {
        if (call.tool || gateway.catalog.tool(call.toolId)) return;
        const id = call.toolId.slice(0, Math.max(0, call.toolId.indexOf(":")));
        const adapter = live.get(id);
        if (!adapter) return;
        // The server of the document may be reachable again.
        const isTried = loading.has(id) || Date.now() - (failedAt.get(id) ?? Date.now()) < RETRY_MS;
        if (adapter.isRemote && !isTried) startLoading(adapter);
        await loading.get(id);
        const { problem } = adapter.info();
        if (problem !== undefined)
          throw new GatewayError(DOCUMENT_BROKEN, problem, { data: { adapter: id } });
      },
      async execute(call, next) {
        const known = call.tool?.builtin ? undefined : findKnown(call.tool);
        if (!known) return next();
        const { adapter, plan } = known;
        if (call.meta[requestMeta.dryRun] === true) {
          const request = await adapter.preview(plan, call);
          const value = { dry_run: true, request };
          call.via = "dry run";
          call.result = {
            content: [{ type: "text", text: JSON.stringify(value) }],
            structuredContent: value,
          };
          return;
        }
        call.result = await adapter.execute(plan, call, {
          isTimed: call.isTimed,
          trace: gateway.services.telemetry?.getContext(call),
        });
      },
      async close() {
        await Promise.all([...live.values()].map((adapter) => adapter.close()));
      },
    };
  },
});

/**
 * Sets the operation of every tool before other plugins see the tool. The plugin `openapi` sets it too, but its hooks run
 * last, which is too late for a plugin that rates tools by their operation.
 */
export const knownOperations = definePlugin({
  name: "known-operations",
  order: "pre",
  uses: ["adapters"],
  setup: (gateway) => ({
    "tool:discover"(tool) {
      const operation = gateway.services.adapters.findOperation(tool);
      if (operation) tool.operation = operation;
    },
  }),
});

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
