// A process of its own that charges under keys until it is killed: node _worker.mjs <folder> <round>.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

const [folder, round] = process.argv.slice(2);
const { createGateway, localTools, textResult } = await load("core/mod.ts");
const { guard, requestMeta } = await load("plugins/guard/mod.ts");
const { state } = await load("plugins/state/mod.ts");

const charge = {
  name: "charge",
  inputSchema: { type: "object" },
  async run({ key }) {
    await setTimeout(Math.random() * 4);
    appendFileSync(join(folder, "ledger"), `${key}\n`);
    await setTimeout(Math.random() * 4);
    return textResult(`charged for ${key}`);
  },
};

const gateway = await createGateway({
  plugins: [state({ folder: join(folder, "state") }), guard(), localTools("bank", { id: "bank" }, [charge])],
});
await say("ready");
for (let number = 0; ; number++) {
  // Those of the round before too: processes that were killed then have left some of them in the middle.
  for (const key of [`round-${round}-call-${number}`, `round-${Number(round) - 1}-call-${number}`]) {
    const meta = { [requestMeta.idempotencyKey]: key };
    const call = await gateway.run({ tool: "bank:charge", args: { key }, meta });
    await say(`${key} ${call.ok ? "ok" : call.error.code}`);
  }
}

/** The sources on Deno, the build on Node, which starts many times faster than it reads TypeScript. */
function load(path) {
  const built = `../../../dist/${path}`.replace(/\.ts$/, ".js");
  return import(new URL("Deno" in globalThis ? `../../../${path}` : built, import.meta.url).href);
}

/** Prints a line, and returns once it is written. */
function say(line) {
  return new Promise((resolve) => process.stdout.write(`${line}\n`, resolve));
}
