import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type CallRequest,
  definePlugin,
  type Gateway,
  type GatewayError,
  type JsonObject,
  type Plugin,
  type SettledCall,
  type Tool,
} from "../../../core/mod.ts";
import { requestMeta } from "../../../core/services/policy.ts";
import { toDocument } from "../../../plugins/openapi/document.ts";
import { type AdapterOptions, openapi } from "../../../plugins/openapi/mod.ts";
import { type BuiltOperation, buildOperations } from "../../../plugins/openapi/operations.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** The part of a document that most tests do not care about. */
export function createApi(paths: JsonObject, more: JsonObject = {}): JsonObject {
  return { openapi: "3.1.0", info: { title: "API", version: "1" }, paths, ...more };
}

/** The operations of a document that is given as it is. */
export function built(document: JsonObject): BuiltOperation[] {
  return buildOperations(toDocument(document, "test"), {}, (place, thrown) => {
    throw new Error(`${place} is faulty.`, { cause: thrown });
  });
}

/** One operation by its name. */
export function builtOne(document: JsonObject, name?: string): BuiltOperation {
  const all = built(document);
  const found = name === undefined ? all[0] : all.find(({ definition }) => definition.name === name);
  if (!found) throw new Error(`There is no operation ${name}.`);
  return found;
}

/** A gateway with APIs behind it. */
export interface Opened {
  readonly gateway: Gateway;
  /** Errors outside any call. */
  readonly reported: GatewayError[];
  run(tool: string, args?: JsonObject, more?: Partial<CallRequest>): Promise<SettledCall>;
  /** The request that a call would send. */
  dryRun(tool: string, args?: JsonObject, meta?: JsonObject): Promise<PreparedRequest>;
  tool(id: string): Tool;
}

/** A request as a dry run returns it. */
export interface PreparedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

/** Opens a gateway; a document that is an object is written to a file first. */
export async function openAdapters(
  adapters: Record<string, Omit<AdapterOptions, "document"> & { document: string | JsonObject }>,
  plugins: readonly Plugin[] = [],
): Promise<Opened> {
  const folder = await temporaryFolder();
  const written: Record<string, AdapterOptions> = {};
  for (const [id, options] of Object.entries(adapters)) {
    const { document } = options;
    if (typeof document === "string") written[id] = { ...options, document };
    else {
      const file = join(folder, `${id}.json`);
      await writeFile(file, JSON.stringify(document));
      written[id] = { ...options, document: file };
    }
  }
  const reported: GatewayError[] = [];
  const listener = definePlugin({
    name: "listener",
    setup: () => ({
      error(error) {
        reported.push(error);
      },
    }),
  });
  const gateway = await openGateway(
    { plugins: [listener(), ...plugins, openapi({ adapters: written })] },
    { drainMs: 0 },
  );
  const run: Opened["run"] = (tool, args = {}, more = {}) => gateway.run({ tool, args, ...more });
  return {
    gateway,
    reported,
    run,
    async dryRun(tool, args, meta) {
      const call = await run(tool, args, { meta: { ...meta, [requestMeta.dryRun]: true } });
      if (!call.ok) throw call.error;
      return (call.result.structuredContent as { request: PreparedRequest }).request;
    },
    tool(id) {
      const tool = gateway.catalog.tool(id);
      if (!tool) throw new Error(`There is no tool ${id}.`);
      return tool;
    },
  };
}

/** A file of the fixtures. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/openapi/${name}`, import.meta.url));
}
