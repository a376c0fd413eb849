import { fileURLToPath } from "node:url";
import type { JsonObject } from "../../../core/mod.ts";
import { type MemorySink, memorySink } from "../../../plugins/audit/mod.ts";
import {
  fixtureServer,
  type Kind,
  openClient,
  readText,
  type TestClient,
} from "../../presets/_passthrough.ts";

/** A server that has a book to read, a prompt, and completions. */
export const shelf: JsonObject = fixtureServer(
  fileURLToPath(new URL("../../fixtures/shelf-server.mjs", import.meta.url)),
);

export const TIMEOUT_MS = 60_000;

/** A client before a gateway with that server. */
export interface Reader extends TestClient {
  readonly sink: MemorySink;
  /** The requests to the server, without calls of its tool. */
  heard(): Promise<string[]>;
  read(uri?: string): Promise<JsonObject>;
  get(): Promise<JsonObject>;
  complete(): Promise<JsonObject>;
}

type Setup = Partial<Parameters<typeof openClient>[1]>;

/** Makes one. */
export async function openReader(kind: Kind, { options, ...setup }: Setup = {}): Promise<Reader> {
  const sink = memorySink();
  const client = await openClient(kind, {
    servers: { shelf },
    ...setup,
    options: { ...options, audit: { sink: sink as unknown as JsonObject } } as never,
  });
  return {
    ...client,
    sink,
    heard: async () =>
      JSON.parse(readText(await client.request("tools/call", { name: "list_asked", arguments: {} }))),
    read: (uri = "shelf://book") => client.request("resources/read", { uri }),
    get: () => client.request("prompts/get", { name: "review", arguments: { book: "Emma" } }),
    complete: () =>
      client.request("completion/complete", {
        ref: { type: "ref/prompt", name: "review" },
        argument: { name: "book", value: "E" },
      }),
  };
}
