import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { place } from "../../support/place.ts";
import { hasRedis, startRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

const onDeno = "Deno" in globalThis;
const program = fileURLToPath(
  new URL(
    onDeno ? "../../../plugins/cli/toolpipe.ts" : "../../../dist/plugins/cli/toolpipe.js",
    import.meta.url,
  ),
);

/** Starts a gateway whose state is in this Redis, and returns what it prints as errors. */
async function serve(address: string): Promise<() => string> {
  const { project } = await place();
  const config = join(project, "toolpipe.config.json");
  await writeFile(config, JSON.stringify({ preset: "gateway", state: address }));
  const args = [...(onDeno ? ["run", "-A"] : []), program, "serve", "--config", config];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "ignore", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  child.stderr.on("data", (chunk) => {
    text += chunk;
  });
  return () => text;
}

test.skipIf(!hasRedis)("fault 100: a wrong password of Redis is on stderr, and not itself", async () => {
  const redis = await startRedis("--requirepass", "the right one");
  onTestFinished(() => redis.stop());
  const printed = await serve(`redis://:the-wrong-one@127.0.0.1:${redis.port}`);
  await until(() => printed().includes("WRONGPASS"), 60_000);
  expect(printed()).toContain("Redis cannot be reached (WRONGPASS).");
  expect(printed()).not.toContain("the-wrong-one");
});

test.skipIf(!hasRedis)(
  "fault 100: a Redis that is lost while the gateway serves is on stderr, once",
  async () => {
    const redis = await startRedis("--save", "", "--appendonly", "no");
    const printed = await serve(redis.url);
    // Printed once it is connected.
    await until(() => printed().includes("keeps nothing on a disk"), 60_000);
    await redis.stop();
    await until(() => printed().includes("was lost"), 60_000);
    const again = await startRedis("--port", String(redis.port), "--requirepass", "another");
    onTestFinished(() => again.stop());
    await until(() => printed().includes("was refused (NOAUTH)"), 60_000);
    expect(printed().match(/was lost/g)).toHaveLength(1);
  },
);
