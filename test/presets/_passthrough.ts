import { PassThrough } from "node:stream";
import { Client as NewClient } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { onTestFinished, vi } from "vitest";
import type { Gateway, JsonObject, Plugin, Preset } from "../../core/mod.ts";
import { serveStdio } from "../../plugins/serve/mod.ts";
import { passthrough } from "../../presets/passthrough.ts";
import { installed, script } from "../support/stdio-servers.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

/** The clients of every test: both libraries, and the newer one with both protocols. */
export const kinds = ["v1", "v2 legacy", "v2 modern"] as const;
export type Kind = (typeof kinds)[number];

/** The command of the reference server. */
export const everything: JsonObject = createEntry(
  installed("@modelcontextprotocol/server-everything", "stdio"),
);

/** A server of a test, from a file of the fixtures. */
export function fixtureServer(file: string, ...args: string[]): JsonObject {
  return createEntry(script(file, ...args));
}

function createEntry({ command, args }: { command: string; args: readonly string[] }): JsonObject {
  return { command, args };
}

/** A client of a test: its answers, and the notifications it received. */
export interface Told {
  readonly asked: JsonObject[];
  readonly messages: JsonObject[];
  readonly changed: string[];
  readonly updated: string[];
}

/** A client of either library, as far as tests need them to be the same. */
export interface TestClient extends Told {
  readonly gateway: Gateway;
  readonly capabilities: JsonObject;
  request(method: string, params?: JsonObject, onProgress?: (step: number) => void): Promise<JsonObject>;
  /** Subscribes to changes of a resource, and of lists in the modern protocol. */
  subscribe(uri: string): Promise<void>;
  close(): Promise<void>;
  /** Ends what is served to it. */
  stop(): Promise<void>;
}

/** The answers of the user. */
export type Answers = Readonly<Record<string, (params: JsonObject) => JsonObject>>;

export const answers: Answers = {
  "elicitation/create": ({ mode }) =>
    mode === "url" ? { action: "accept" } : { action: "accept", content: { name: "Ada" } },
  "sampling/createMessage": () => ({
    model: "test-model",
    role: "assistant",
    content: { type: "text", text: "sampled text" },
  }),
  "roots/list": () => ({ roots: [{ uri: "file:///test-root", name: "Test root" }] }),
};

interface Setup {
  readonly servers: Readonly<Record<string, JsonObject>>;
  readonly preset?: Preset;
  readonly options?: Readonly<Record<string, JsonObject>>;
  readonly plugins?: readonly Plugin[];
  readonly answers?: Answers;
  readonly name?: string;
  /** The cache that is kept from one start to the next; none by default. */
  readonly home?: string;
  /** The server whose tools are waited for; all of them by default. */
  readonly awaited?: string;
}

/** Serves a preset over two streams to a client of this kind, once all servers are listed. */
export async function openClient(kind: Kind, setup: Setup): Promise<TestClient> {
  const home = setup.home ?? (await temporaryFolder());
  vi.stubEnv("TOOLPIPE_HOME", home);
  onTestFinished(() => void vi.unstubAllEnvs());
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio(
    {
      preset: setup.preset ?? passthrough,
      plugins: setup.plugins ?? [],
      options: { sources: { mcpServers: setup.servers }, ...setup.options },
    },
    { input, output },
  );
  onTestFinished(() => server.close({ drainMs: 0 }));
  const { servers } = server.gateway.services;
  if (setup.awaited === undefined) await servers?.settled();
  else await until(() => servers?.status(String(setup.awaited))?.listedAt !== undefined, 60_000);
  const told: Told = { asked: [], messages: [], changed: [], updated: [] };
  const connected = await (kind === "v1" ? connectOld : connectNew)(kind, { input, output }, told, setup);
  onTestFinished(() => connected.close());
  return { ...told, ...connected, gateway: server.gateway, stop: () => server.close({ drainMs: 0 }) };
}

interface Streams {
  readonly input: PassThrough;
  readonly output: PassThrough;
}

/** A transport of either library over two streams. */
function createTransport({ input, output }: Streams) {
  let rest = "";
  const transport = {
    onmessage: undefined as ((message: never) => void) | undefined,
    onclose: undefined as (() => void) | undefined,
    onerror: undefined as ((error: Error) => void) | undefined,
    async start() {
      output.on("data", (chunk: Buffer) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) transport.onmessage?.(JSON.parse(line) as never);
      });
    },
    async send(message: object) {
      input.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      input.end();
      transport.onclose?.();
    },
  };
  return transport;
}

const asking = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const notices = ["tools", "prompts", "resources"].map((list) => `notifications/${list}/list_changed`);

type Connected = Pick<TestClient, "capabilities" | "request" | "subscribe" | "close">;

function toCapabilities(given: Answers): JsonObject {
  const declared = Object.entries({
    elicitation: "elicitation/create",
    sampling: "sampling/createMessage",
    roots: "roots/list",
  }).filter(([, method]) => given[method]);
  return Object.fromEntries(declared.map(([name]) => [name, asking[name as keyof typeof asking]]));
}

async function connectOld(_: Kind, streams: Streams, told: Told, setup: Setup): Promise<Connected> {
  const given = setup.answers ?? answers;
  const info = { name: setup.name ?? "test", version: "1" };
  const client = new OldClient(info, { capabilities: toCapabilities(given) });
  client.fallbackRequestHandler = async ({ method, params = {} }) => answer(given, told, method, params);
  client.fallbackNotificationHandler = async ({ method, params = {} }) => hear(told, method, params);
  await client.connect(createTransport(streams) as never);
  const anything = {
    parse: (value: unknown) => value,
    safeParse: (data: unknown) => ({ success: true, data }),
  };
  return {
    capabilities: (client.getServerCapabilities() ?? {}) as JsonObject,
    request: (method, params = {}, onProgress) =>
      client.request({ method, params } as never, anything as never, {
        ...(onProgress && { onprogress: ({ progress }) => onProgress(progress) }),
      }) as Promise<JsonObject>,
    async subscribe(uri) {
      await client.subscribeResource({ uri });
    },
    close: () => client.close(),
  };
}

async function connectNew(kind: Kind, streams: Streams, told: Told, setup: Setup): Promise<Connected> {
  const given = setup.answers ?? answers;
  const client = new NewClient(
    { name: setup.name ?? "test", version: "1" },
    {
      capabilities: toCapabilities(given),
      versionNegotiation: { mode: kind === "v2 modern" ? { pin: "2026-07-28" } : "legacy" },
    },
  );
  for (const method of Object.keys(given)) {
    client.setRequestHandler(
      method as "roots/list",
      ((request: { params?: JsonObject }) => answer(given, told, method, request.params ?? {})) as never,
    );
  }
  client.fallbackNotificationHandler = async ({ method, params = {} }) =>
    hear(told, method, params as JsonObject);
  await client.connect(createTransport(streams) as never);
  const isModern = kind === "v2 modern";
  const anything = {
    "~standard": { version: 1 as const, vendor: "test", validate: (value: unknown) => ({ value }) },
  };
  if (isModern) {
    const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    await client.listen(lists);
  }
  return {
    capabilities: (client.getServerCapabilities() ?? {}) as JsonObject,
    request: (method, params = {}, onProgress) =>
      client.request({ method, params: isModern ? withLevel(params) : params }, anything, {
        ...(onProgress && { onprogress: ({ progress }) => onProgress(progress) }),
      }) as Promise<JsonObject>,
    async subscribe(uri) {
      if (isModern) await client.listen({ resourceSubscriptions: [uri] });
      else await client.subscribeResource({ uri });
    },
    close: () => client.close(),
  };
}

/** In the modern protocol a client sends its log level with each request. */
function withLevel(params: JsonObject): JsonObject {
  return { ...params, _meta: { "io.modelcontextprotocol/logLevel": "debug" } };
}

function answer(given: Answers, told: Told, method: string, params: JsonObject): JsonObject {
  told.asked.push({ method, ...params });
  const known = given[method];
  if (!known) throw new Error(`There is no answer for ${method}.`);
  return known(params);
}

function hear(told: Told, method: string, params: JsonObject): void {
  if (method === "notifications/message") told.messages.push(params);
  if (notices.includes(method)) told.changed.push(method.split("/")[1] as string);
  if (method === "notifications/resources/updated") told.updated.push(String(params["uri"]));
}

/** The text of a result. */
export function readText(result: JsonObject): string {
  return (result["content"] as JsonObject[]).map(({ text }) => String(text)).join("");
}
