import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createGateway,
  type Gateway,
  type JsonObject,
  localTools,
  type Plugin,
  textResult,
} from "../../core/mod.ts";
import { requestMeta } from "../../core/services/policy.ts";
import type { StateStore } from "../../core/services/state.ts";
import { guard } from "../../plugins/guard/mod.ts";
import { memoryStore } from "../../plugins/lib/memory-store.ts";
import { rates } from "../../plugins/rates.ts";
import { retry } from "../../plugins/retry/mod.ts";
import { fileStore, state } from "../../plugins/state/mod.ts";
import { measure, printTable, type Subject } from "./_measure.ts";

const answer = textResult("ok");
const args = { path: "README.md", lines: 20 };
const names = ["get_file", "create_note", "charge"] as const;

const tools: Plugin = localTools(
  "tools",
  { id: "bench" },
  names.map((name) => ({ name, inputSchema: { type: "object" }, run: () => answer })),
);

/** Opens a gateway with its own store. */
function open(plugins: readonly Plugin[], store: StateStore = memoryStore()): Promise<Gateway> {
  return createGateway({ plugins: [state({ store }), ...plugins, tools] });
}

function calling(name: string, gateway: Gateway, tool: string, meta: () => JsonObject): Subject {
  return {
    name,
    async run(times) {
      for (let index = 0; index < times; index++) {
        const call = await gateway.run({ tool: `bench:${tool}`, args, meta: meta() });
        if (!call.ok) throw call.error;
      }
    },
  };
}

/** Compares a guarded call with an unguarded one: CPU first, then the time of the disk. */
export async function guardOverhead(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "toolpipe-bench-"));
  let keys = 0;
  const newKey = (): JsonObject => ({ [requestMeta.idempotencyKey]: `bench-key-${keys++}` });
  const sameKey = { [requestMeta.idempotencyKey]: "bench-key-same" };
  const none = (): JsonObject => ({});
  const limits = { "*": { limit: 1e9, perMs: 1_000 } };

  const plain = await open([]);
  const guarded = await open([guard()]);
  const all = await open([guard(), rates({ limits }), retry()]);
  const subjects = [
    calling("not guarded", plain, "charge", none),
    calling("guarded, low risk", guarded, "get_file", none),
    calling("guarded, medium risk", guarded, "create_note", none),
    calling("guarded, high risk, state in memory", guarded, "charge", newKey),
    calling("guarded, high risk, replayed", guarded, "charge", () => sameKey),
    calling("guarded, low risk, with rates and retry", all, "get_file", none),
  ];
  printTable(await measure(subjects, 2_000, 7), "not guarded", "CPU µs");

  const files = await open([guard()], fileStore(folder));
  const onDisk = calling("", files, "charge", newKey);
  const replays = calling("", files, "charge", () => sameKey);
  await onDisk.run(20);
  await replays.run(1);
  const lines = [
    ["high risk, state in files", await wall(onDisk, 200)],
    ["high risk, state in files, replayed", await wall(replays, 200)],
  ] as const;
  process.stdout.write("\n| | ms a call |\n|---|---:|\n");
  for (const [name, ms] of lines) process.stdout.write(`| ${name} | ${ms.toFixed(2)} |\n`);
  for (const gateway of [plain, guarded, all, files]) await gateway.close();
  await rm(folder, { recursive: true, force: true });
}

async function wall({ run }: Subject, times: number): Promise<number> {
  const began = performance.now();
  await run(times);
  return (performance.now() - began) / times;
}
