import { join } from "node:path";
import { expect, test } from "vitest";
import type { JsonObject } from "../core/mod.ts";
import { ask, readAnswer } from "./plugins/serve/_http.ts";
import { balancer } from "./support/balancer.ts";
import { type Serving, startServe } from "./support/start-serve.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { until } from "./support/until.ts";

const TIMEOUT_MS = 120_000;
const CLIENTS = 8;
/** Many times what the balancer of the test needs, which asks ten times a second on a machine that may be busy. */
const NOTICE_MS = 5_000;

interface Replica extends Serving {
  readonly origin: string;
}

async function startReplica(options: JsonObject = {}): Promise<Replica> {
  const plugins = ["toolpipe/plugins/demo", "toolpipe/plugins/health"];
  const config = { preset: "passthrough", plugins, options };
  const home = await temporaryFolder({ "a.json": JSON.stringify(config) });
  const serving = startServe(["--http", "0", "--config", join(home, "a.json")], {
    cwd: home,
    env: { ...process.env, TOOLPIPE_HOME: join(home, "state") },
  });
  const url = /http:\S+/.exec(await serving.line("http://"))?.[0] ?? "";
  return { ...serving, origin: new URL(url).origin };
}

function countWords(origin: string, text: string): Promise<JsonObject> {
  return readAnswer(ask(`${origin}/mcp`, "tools/call", { name: "word_count", arguments: { text } }));
}

test.skipIf(process.platform === "win32")(
  "a replica that is told to end under load is replaced without the loss of a call",
  { timeout: TIMEOUT_MS },
  async () => {
    const health = { noticeMs: NOTICE_MS };
    const [leaving, staying] = await Promise.all([startReplica({ health }), startReplica({ health })]);
    const { origin, isUp } = await balancer([leaving.origin, staying.origin]);
    const failures: unknown[] = [];
    let answered = 0;
    let isOver = false;
    const client = async (): Promise<void> => {
      while (!isOver) {
        const answer = await countWords(origin, "one two three").catch((thrown: unknown) => ({ thrown }));
        if (JSON.stringify(answer).includes('"text":"3"')) answered++;
        else failures.push(answer);
      }
    };
    const clients = Array.from({ length: CLIENTS }, client);
    await until(() => answered > 50, TIMEOUT_MS);
    // Two seconds of work, which go on after it was told.
    const slow = { name: "countdown", arguments: { from: 100 } };
    const long = [1, 2].map(() => readAnswer(ask(`${leaving.origin}/mcp`, "tools/call", slow)));
    process.kill(leaving.pid, "SIGTERM");
    await until(() => !isUp(leaving.origin), TIMEOUT_MS);
    expect(isUp(staying.origin)).toBe(true);
    expect(leaving.child.exitCode).toBeNull();
    expect(await leaving.exit).toEqual([0, null]);
    for (const answer of await Promise.all(long)) expect(JSON.stringify(answer)).toContain("Liftoff!");
    const before = answered;
    await until(() => answered > before + 50, TIMEOUT_MS);
    isOver = true;
    await Promise.all(clients);
    expect(failures).toEqual([]);
  },
);

test.skipIf(process.platform === "win32")(
  "a replica without readiness probes ends at once, and one that waits ends at the second signal",
  { timeout: TIMEOUT_MS },
  async () => {
    const [unwatched, watched] = await Promise.all([
      startReplica(),
      startReplica({ health: { noticeMs: 10 * TIMEOUT_MS } }),
    ]);
    process.kill(unwatched.pid, "SIGTERM");
    expect(await unwatched.exit).toEqual([0, null]);
    expect(unwatched.errors.join("\n")).not.toContain("/readyz");

    process.kill(watched.pid, "SIGTERM");
    await watched.line("after readiness probes have noticed");
    expect((await fetch(`${watched.origin}/readyz`)).status).toBe(503);
    expect(JSON.stringify(await countWords(watched.origin, "still here"))).toContain('"text":"2"');
    process.kill(watched.pid, "SIGTERM");
    expect(await watched.exit).toEqual([1, null]);
  },
);
