import process from "node:process";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  createGateway,
  type Gateway,
  GatewayError,
  type JsonObject,
  localTools,
  type MetaTool,
  textResult,
} from "../../../core/mod.ts";
import { type LogsOptions, logs } from "../../../plugins/logs/mod.ts";
import { openGateway } from "../../support/open-gateway.ts";

const object = { type: "object" };

async function openLogs(
  options: Omit<LogsOptions, "write"> = {},
): Promise<{ gateway: Gateway; lines: JsonObject[] }> {
  const lines: JsonObject[] = [];
  const fail =
    (message: string): MetaTool["run"] =>
    () =>
      Promise.reject(new GatewayError("TIMEOUT", message));
  const gateway = await openGateway({
    plugins: [
      logs({ ...options, write: (line) => void lines.push(JSON.parse(line)) }),
      localTools("s", { id: "s" }, [
        { name: "ok", inputSchema: object, run: () => textResult("canary") },
        { name: "late", inputSchema: object, run: fail("It took too long with canary-arg. token=canary-1") },
        { name: "throw", inputSchema: object, run: () => Promise.reject(new Error("canary")) },
      ]),
    ],
  });
  return { gateway, lines };
}

describe("every line is one JSON object", () => {
  test("of a call: who, what, how it went and how long it took, and neither arguments nor results", async () => {
    const { gateway, lines } = await openLogs();
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    await gateway.run({ tool: "s:ok", args: { password: "canary" }, meta: { traceparent } });
    await gateway.run({ tool: "s:late", args: { deep: [{ text: "canary-arg" }] } });
    await gateway.run({ tool: "s:throw" });
    await gateway.run({ tool: "s:no\u001b[31m api_key=canary" });
    const calls = lines.filter(({ event }) => event === "call");
    expect(calls).toMatchObject([
      { level: "info", tool: "s:ok", actor: "local", outcome: "ok", stage: "execute", trace: "a".repeat(32) },
      {
        level: "warn",
        tool: "s:late",
        outcome: "TIMEOUT",
        message: "It took too long with …. token=…",
      },
      { level: "error", tool: "s:throw", outcome: "INTERNAL" },
      { level: "warn", tool: "s:no [31m api_key=…", outcome: "TOOL_NOT_FOUND", stage: "resolve" },
    ]);
    expect(calls[0]?.["ms"]).toBeTypeOf("number");
    expect(JSON.stringify(lines)).not.toContain("canary");
  });

  test("of what fails outside of calls, with its causes where everything is wanted", async () => {
    const error = new GatewayError("INTERNAL", "It is gone: Authorization: Bearer canary1", {
      cause: new Error("connect ECONNREFUSED https://user:canary@a.example/x"),
    });
    for (const level of ["info", "debug"] as const) {
      const { gateway, lines } = await openLogs({ level });
      gateway.report(error);
      const line = lines.find(({ event }) => event === "error");
      expect(line).toMatchObject({ level: "error", code: "INTERNAL" });
      expect(line?.["causes"]).toEqual(
        level === "info" ? undefined : ["Error: connect ECONNREFUSED https://a.example/x"],
      );
      expect(JSON.stringify(lines)).not.toContain("canary");
    }
  });

  test("and only what is as serious as wanted", async () => {
    const { gateway, lines } = await openLogs({ level: "warn" });
    await gateway.run({ tool: "s:ok" });
    await gateway.run({ tool: "s:late" });
    await gateway.close();
    expect(lines.map(({ event, level }) => [event, level])).toEqual([["call", "warn"]]);
    const all = await openLogs({ level: "debug" });
    expect(all.lines.map(({ event }) => event)).toEqual(expect.arrayContaining(["catalog", "ready"]));
  });
});

test("lines go to standard error, because standard output may carry the protocol", async () => {
  const written: string[] = [];
  const spy = vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  await (await createGateway({ plugins: [logs()] })).close();
  expect(written.join("")).toMatch(/^\{"time":"[^"]+","level":"info","event":"ready".*\}\n\{.*"close"\}\n$/);
});
