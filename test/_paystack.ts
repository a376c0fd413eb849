import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import type { JsonObject } from "../core/mod.ts";
import { startServe } from "./support/start-serve.ts";
import { temporaryFolder, writeFiles } from "./support/temporary-folder.ts";

/** Secrets that must never appear anywhere. */
export const SECRET = "sk_test_canary_4eC39HqLyjWDarjtT1zdp7dc";

const fixtures = fileURLToPath(new URL("./fixtures/paystack/", import.meta.url));

/** A line of the ledger. */
export interface LedgerEntry extends JsonObject {
  readonly event: "received" | "charged" | "declined" | "initialized" | "refunded" | "deleted";
  readonly order?: string;
}

/** The ledger, which outlives every gateway. */
export interface Ledger {
  readonly url: string;
  /** The content of its file. */
  entries(): Promise<readonly LedgerEntry[]>;
  /** How often an order was charged. */
  chargesOf(order: string): Promise<number>;
  /** Resolves as soon as something has happened to one of these orders. */
  until(event: LedgerEntry["event"], orders: readonly string[]): Promise<void>;
}

/** The order of a charge, and how the ledger handles it. */
export interface ChargeOrder {
  readonly order: string;
  readonly amount?: number;
  readonly before_ms?: number;
  readonly after_ms?: number;
  readonly hold?: "charge" | "answer";
  readonly drop?: "charge" | "answer";
}

/** The answer of `gateway.execute`. */
export interface Executed extends JsonObject {
  readonly success: boolean;
  readonly data?: JsonObject;
  readonly error?: JsonObject & { readonly code: string };
  readonly meta?: JsonObject & { readonly via?: string };
}

/** A gateway as a process of its own, and a client that is connected to it. */
export interface Running {
  readonly origin: string;
  readonly client: Client;
  /** The answer of a tool, as JSON. */
  call(tool: string, args: object): Promise<JsonObject>;
  /** Executes an operation. */
  execute(tool: string, params: object, options?: object): Promise<Executed>;
  /** Charges a saved card for an order, under a key if there is one. */
  charge(order: ChargeOrder, key?: string): Promise<Executed>;
  /** Ends the process at once, and every call with it. Resolves when it is gone. */
  kill(): Promise<void>;
}

/** A shop: a ledger, and a folder in which all its gateways keep their state. */
export interface Shop {
  readonly ledger: Ledger;
  /** The folder in which its gateways keep their state and their audit. */
  readonly home: string;
  readonly configFile: string;
  /** Starts a gateway. */
  open(env?: Readonly<Record<string, string>>): Promise<Running>;
  /** All that any gateway has printed or answered. */
  said(): string;
}

/** Opens a shop until the test is over, with more in its config. */
export async function openShop(more: Readonly<JsonObject> = {}): Promise<Shop> {
  const folder = await temporaryFolder();
  const ledger = await startLedger(join(folder, "ledger.jsonl"));
  const home = join(folder, "home");
  const configFile = join(folder, "toolpipe.config.json");
  const document = join(fixtures, "paystack.json");
  const config = {
    sources: [],
    adapters: { paystack: { document, server: ledger.url, allowPrivate: true } },
    ...more,
  };
  await writeFiles(folder, { "toolpipe.config.json": JSON.stringify(config) });
  const said: string[] = [];
  return {
    ledger,
    home,
    configFile,
    said: () => said.join("\n"),
    async open(env) {
      const args = ["--http", "0", "--preset", "gateway", "--config", configFile];
      const serving = startServe(args, {
        cwd: folder,
        env: { ...process.env, TOOLPIPE_HOME: home, PAYSTACK_SECRET_KEY: SECRET, ...env },
      });
      for (const stream of [serving.child.stdout, serving.child.stderr]) {
        stream?.on("data", (chunk) => said.push(String(chunk)));
      }
      const url = new URL(/http:\S+/.exec(await serving.line(" at http://"))?.[0] ?? "");
      const client = new Client({ name: "shop", version: "1.0.0" });
      await client.connect(new StreamableHTTPClientTransport(url));
      onTestFinished(() => client.close());

      const call: Running["call"] = async (name, given) => {
        const answer = await client.callTool({ name, arguments: { ...given } });
        said.push(JSON.stringify(answer));
        return JSON.parse((answer as { content: { text: string }[] }).content[0]?.text ?? "");
      };
      const execute: Running["execute"] = async (tool_id, params, options = {}) =>
        (await call("gateway.execute", { tool_id, params, options })) as Executed;
      return {
        origin: url.origin,
        client,
        call,
        execute,
        charge: (order, idempotency_key) =>
          execute(
            "paystack:charge-authorization",
            createParams(order),
            idempotency_key === undefined ? {} : { idempotency_key },
          ),
        async kill() {
          serving.child.kill("SIGKILL");
          await serving.exit;
          // All answers sent by then have arrived; no other answer ever will.
          await client.close();
        },
      };
    },
  };
}

/** The parameters of a charge. */
export function createParams({ amount = 500_000, ...metadata }: ChargeOrder): JsonObject {
  return {
    email: "customer@example.com",
    amount,
    authorization_code: "AUTH_72btv547",
    metadata: JSON.stringify(metadata),
  };
}

async function startLedger(file: string): Promise<Ledger> {
  const script = join(fixtures, "ledger.mjs");
  const args = "Deno" in globalThis ? ["run", "-A", script, file] : [script, file];
  const child = spawn(process.execPath, args, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, LEDGER_KEY: SECRET },
  });
  onTestFinished(() => void child.kill());
  const lines = createInterface(child.stdout);
  const [url] = (await once(lines, "line")) as [string];
  const happened: LedgerEntry[] = [];
  const waiting = new Set<() => void>();
  lines.on("line", (line) => {
    happened.push(JSON.parse(line));
    for (const look of waiting) look();
  });
  const entries: Ledger["entries"] = async () => {
    const text = existsSync(file) ? await readFile(file, "utf8") : "";
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  };
  return {
    url,
    entries,
    async chargesOf(order) {
      const all = await entries();
      return all.filter((entry) => entry.event === "charged" && entry.order === order).length;
    },
    until: (event, orders) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!happened.some((entry) => entry.event === event && orders.includes(String(entry.order))))
            return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}
