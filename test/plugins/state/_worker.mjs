// A process of its own that uses a file store: node _worker.mjs <folder> <act> [number].
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [folder, act, number] = process.argv.slice(2);
const { fileStore, updateState } = await load("../../../plugins/state/mod.ts");
const store = fileStore(folder);
const acts = { try: tryAll, race, count, hold, churn };
await acts[act]?.(Number(number));

/** Node 20 cannot read TypeScript by itself. */
async function load(path) {
  const file = new URL(path, import.meta.url);
  if ("Deno" in globalThis) return import(file.href);
  const { createJiti } = await import("jiti");
  return createJiti(import.meta.url, { fsCache: process.env.WORKER_CACHE ?? false }).import(
    fileURLToPath(file),
  );
}

/** Prints a line, and returns once it is written. */
function say(line) {
  return new Promise((resolve) => process.stdout.write(`${line}\n`, resolve));
}

/** Waits until all others are ready too. */
async function go() {
  await say("ready");
  await once(process.stdin, "data");
}

async function tryAll() {
  const outcome = (step) => step.catch((error) => error.code);
  await say(
    JSON.stringify({
      get: (await store.get("g/k"))?.value,
      list: (await store.list("g/")).length,
      setIfAbsent: await outcome(store.setIfAbsent("g/k", {})),
      setAnother: await outcome(store.setIfAbsent("g/other", {})),
      replace: await outcome(store.replace("g/k", {})),
      delete: await outcome(store.delete("g/k")),
    }),
  );
}

/** Tries to set keys that all others try to set as well, and says which it has set. */
async function race(keys) {
  await go();
  const won = [];
  for (let key = 0; key < keys; key++) {
    if (await store.setIfAbsent(`race/${key}`, { by: process.pid })) won.push(key);
  }
  await say(JSON.stringify(won));
  process.exit();
}

/** Adds to a number that all others add to as well. */
async function count(times) {
  await go();
  for (let time = 0; time < times; time++) await add("count/n");
  await say("done");
  process.exit();
}

/** Adds to a number in a plain file, which goes well only if the key that comes and goes is held by one at a time. */
async function hold(times) {
  const file = join(folder, "number");
  await go();
  for (let time = 0; time < times; ) {
    if (!(await store.setIfAbsent("hold/key", { by: process.pid }))) continue;
    const mine = await store.get("hold/key");
    if (mine?.value.by !== process.pid) throw new Error("It was set, but by another.");
    await writeFile(file, String(Number(await readFile(file, "utf8")) + 1));
    if (!(await store.delete("hold/key", mine.version))) throw new Error("It was held, but is gone.");
    time++;
  }
  await say("done");
  process.exit();
}

function add(key) {
  return updateState(store, key, (value) => {
    const n = (value?.n ?? 0) + 1;
    return { n, same: n, text: String(n).repeat(2_000) };
  });
}

/** Changes a key of its own, one of all, and one that comes and goes, and says what is done, until it is killed. */
async function churn() {
  for (;;) {
    const { n } = await add(`own/${process.pid}`);
    await say(`own ${n}`);
    await add("all/n");
    await say("all");
    if (await store.setIfAbsent("all/lock", { by: process.pid })) await store.delete("all/lock");
    else await store.delete("all/lock");
  }
}
