import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createGateway, GatewayError, localTools, type Plugin, textResult } from "../../core/mod.ts";
import { audit } from "../../plugins/audit/mod.ts";
import { trace } from "../../plugins/trace.ts";
import { validate } from "../../plugins/validate.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const canary = "sk-live-CANARY-0123456789";

test("fault 52: a secret in arguments, metadata, the environment, an error, a URL or a stack is in no record, no log and no error an agent sees", async () => {
  const home = await temporaryFolder();
  vi.stubEnv("TOOLPIPE_HOME", home);
  vi.stubEnv("TOOLPIPE_CANARY", canary);
  onTestFinished(() => void vi.unstubAllEnvs());
  const printed: string[] = [];
  for (const name of ["stdout", "stderr"] as const) {
    const spy = vi.spyOn(process[name], "write").mockImplementation((text) => printed.push(String(text)) > 0);
    onTestFinished(() => spy.mockRestore());
  }
  const reported: GatewayError[] = [];
  const listener: Plugin = {
    name: "listener",
    setup: () => ({ error: (error) => void reported.push(error) }),
  };
  const tool = (name: string, run: () => never) => ({ name, inputSchema: { type: "object" }, run });
  const box = localTools("box", { id: "box" }, [
    {
      name: "echo",
      inputSchema: { type: "object", properties: { text: { type: "string", maxLength: 3 } } },
      run: () => textResult(canary),
    },
    tool("throws", () => {
      throw new Error(`GET https://user:${canary}@example.com/?key=${canary}`);
    }),
    tool("throws-kind", () => {
      throw new GatewayError("TIMEOUT", "It took too long.", { cause: new Error(canary) });
    }),
    tool("throws-text", () => {
      throw canary;
    }),
  ]);
  const gateway = await createGateway({ plugins: [audit(), trace(), validate(), listener, box] });
  const meta = { authorization: `Bearer ${canary}`, "toolpipe/idempotency-key": canary };
  const answers: unknown[] = [];
  for (const args of [{ other: canary }, { text: canary }, { [canary]: 1 }, [canary], canary]) {
    for (const name of ["echo", "throws", "throws-kind", "throws-text"]) {
      const call = await gateway.run({ tool: `box:${name}`, args, meta });
      if (!call.ok) answers.push(call.error.toJSON());
    }
  }
  await gateway.close();
  const folder = join(home, "state", "audit");
  const records = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")),
  );
  expect(records.join("").split("\n").length).toBeGreaterThan(20);
  expect(answers.length).toBeGreaterThan(10);
  for (const text of [...records, ...printed, JSON.stringify(answers), JSON.stringify(reported)])
    expect(text).not.toContain(canary);
});
