// A process of its own that charges under keys until it is killed: node _worker.mjs <folder> <round> [redis://…].
// Prints each answer: the key, the outcome and the call, one a line.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";

const [folder, round, redis] = process.argv.slice(2);
process.env.TOOLPIPE_HOME = join(folder, "home");
const { createGateway, localTools, textResult } = await load("core/mod.ts");
const { audit } = await load("plugins/audit/mod.ts");
const { guard, requestMeta } = await load("plugins/guard/mod.ts");
const { state } = await load("plugins/state/mod.ts");

const charge = {
  name: "charge",
  inputSchema: { type: "object" },
  async run({ key }) {
    await setTimeout(Math.random() * 4);
    // A line as short as this is written whole or not at all.
    appendFileSync(join(folder, "ledger"), `${key}\n`);
    await setTimeout(Math.random() * 4);
    return textResult(`charged for ${key}`);
  },
};

const gateway = await createGateway({
  plugins: [
    state(redis ? { state: redis } : { folder: join(folder, "state") }),
    guard(),
    audit({ folder: join(folder, "audit"), keepDays: 3650, maxBytes: 1e12 }),
    localTools("bank", { id: "bank" }, [charge]),
  ],
});
await say("ready");
const lane = async (name) => {
  for (let number = 0; ; number++) {
    // Keys of earlier rounds too: a process that was killed then has left some of them unfinished.
    for (const back of [0, 1, 2]) {
      const key = `round-${Number(round) - back}-${name}-${number}`;
      const call = await gateway.run({
        tool: "bank:charge",
        args: { key },
        meta: { [requestMeta.idempotencyKey]: key },
      });
      await say([key, call.ok ? (call.via ?? "done") : call.error.code, call.id].join(" "));
    }
  }
};
await Promise.all([lane("a"), lane("b")]);

/** The sources on Deno, the build on Node, which starts many times faster than it reads TypeScript. */
function load(path) {
  const built = `../../dist/${path}`.replace(/\.ts$/, ".js");
  return import(new URL("Deno" in globalThis ? `../../${path}` : built, import.meta.url).href);
}

/** Prints a line, and returns once it is written. */
function say(line) {
  return new Promise((resolve) => process.stdout.write(`${line}\n`, resolve));
}
