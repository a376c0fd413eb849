import { describe, expect, test, vi } from "vitest";
import {
  type CallRequest,
  createGateway,
  GatewayError,
  localTools,
  type Plugin,
  textResult,
} from "../../core/mod.ts";
import { trace } from "../../plugins/trace.ts";

const inputSchema = { type: "object" };

const box: Plugin = localTools("box", { id: "box" }, [
  { name: "echo", inputSchema, run: () => textResult("hi") },
  { name: "broken", inputSchema, run: () => ({ ...textResult("no"), isError: true }) },
  {
    name: "outer",
    inputSchema,
    async run(_args, { gateway, call }) {
      await gateway.run({ tool: "box:echo", parent: call });
      return textResult("done");
    },
  },
]);

function guard(hooks: ReturnType<Plugin["setup"]>, order?: "pre"): Plugin {
  return { name: "guard", order, setup: () => hooks };
}

async function traced(request: CallRequest, ...others: Plugin[]): Promise<string[]> {
  const lines: string[] = [];
  const gateway = await createGateway({
    plugins: [...others, trace({ write: (line) => lines.push(line) }), box],
  });
  await gateway.run(request);
  await gateway.close();
  return lines.map((line) => line.replace(/\d+\.\d\d/g, "0.00"));
}

test("a call is its id and a line for each stage with its time", async () => {
  expect(await traced({ tool: "box:echo" })).toEqual([
    "box:echo",
    "  resolve      0.00 ms",
    "  policy       0.00 ms",
    "  validate     0.00 ms",
    "  execute      0.00 ms  ✓ answered",
    "  audit        0.00 ms in all",
  ]);
});

test("an inner call comes before the call it was made for, indented", async () => {
  const lines = await traced({ tool: "box:outer" });
  expect(lines.map((line) => line.replace(/ *0\.00.*/, ""))).toEqual([
    "    box:echo",
    "      resolve",
    "      policy",
    "      validate",
    "      execute",
    "      audit",
    "box:outer",
    "  resolve",
    "  policy",
    "  validate",
    "  execute",
    "  audit",
  ]);
});

describe("a failure is reported in the stage that ended the call, which is the last one:", () => {
  const denied = (): never => {
    throw new GatewayError("DENIED", "Not today.");
  };

  test.each([
    ["resolve", "TOOL_NOT_FOUND", { tool: "box:nothing" }, []],
    ["policy", "DENIED", { tool: "box:echo" }, [guard({ policy: denied })]],
    ["validate", "DENIED", { tool: "box:echo" }, [guard({ validate: denied })]],
    ["execute", "DENIED", { tool: "box:echo" }, [guard({ execute: denied })]],
    ["resolve", "INVALID_ARGUMENTS", { tool: "box:echo", args: [1] }, []],
    ["resolve", "CANCELLED", { tool: "box:echo", signal: AbortSignal.abort() }, []],
    ["policy", "DENIED", { tool: "box:echo" }, [guard({ policy: denied }, "pre")]],
  ])("%s: %s", async (stage, code, request, plugins) => {
    const lines = await traced(request, ...plugins);
    expect(lines[0]).toBe(request.tool);
    expect(lines.at(-1)).toMatch(/^ {2}audit /);
    const stages = lines.slice(1, -1);
    expect(stages.at(-1)).toMatch(new RegExp(`^  ${stage} .*✗ ${code}: .`));
    expect(stages.filter((line) => /[✓✗]/.test(line))).toHaveLength(1);
  });

  test("and a failure of the tool itself is told from an answer", async () => {
    expect((await traced({ tool: "box:broken" })).at(-2)).toBe("  execute      0.00 ms  ✗ answered");
  });
});

test("names the plugin that answered instead of the tool", async () => {
  const cache = guard({
    execute(call) {
      call.result = textResult("hi");
      call.via = "cache";
    },
  });
  expect((await traced({ tool: "box:echo" }, cache)).at(-2)).toBe("  execute      0.00 ms  ✓ via cache");
});

test("calls at the same time do not mix their stages", async () => {
  const lines: string[] = [];
  const gateway = await createGateway({ plugins: [trace({ write: (line) => lines.push(line) }), box] });
  const calls = await Promise.all(Array.from({ length: 50 }, () => gateway.run({ tool: "box:echo" })));
  await gateway.close();
  expect(calls.every(({ ok }) => ok)).toBe(true);
  const stages = lines.map((line) => line.trim().split(" ")[0]);
  const one = ["box:echo", "resolve", "policy", "validate", "execute", "audit"];
  expect(stages).toEqual(calls.flatMap(() => one));
});

test("lines go to standard error if nothing else is said", async () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const gateway = await createGateway({ plugins: [trace(), box] });
  await gateway.run({ tool: "box:echo" });
  await gateway.close();
  const written = write.mock.calls.map(([chunk]) => String(chunk));
  write.mockRestore();
  expect(written[0]).toBe("box:echo\n");
  expect(written).toHaveLength(6);
});

test("the option write is a function", () => {
  expect(() => trace({ write: "stderr" as never })).toThrow("write: expected a function, found a string");
});
