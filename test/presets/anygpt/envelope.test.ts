import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createGateway, localTools, type ToolResult, textResult } from "../../../core/mod.ts";
import { toExecutionResult } from "../../../presets/anygpt/envelope.ts";
import { anygpt, createEngine } from "../../../presets/anygpt/mod.ts";

const issue = {
  issue_number: 123,
  url: "https://github.com/owner/repo/issues/123",
  title: "Bug report",
  state: "open",
};
const image = { type: "image", data: "", mimeType: "image/png" };

function toResult(answer: ToolResult) {
  return toExecutionResult(answer, "github", "create_issue");
}

describe("the outcome of an execution", () => {
  test.each([
    ["structured content", { content: [{ type: "text", text: "Created." }], structuredContent: issue }],
    ["a text that is a JSON object", textResult(JSON.stringify(issue))],
    ["an indented JSON object", textResult(JSON.stringify(issue, null, 2))],
  ])("has %s as its result", (_what, answer) => {
    const { success, result } = toResult(answer);
    expect({ success, result }).toEqual({ success: true, result: issue });
    // Compiles, and works.
    const number: number = result.issue_number;
    expect(number).toBe(123);
  });

  test.each([
    ["text", textResult("Issue #123"), "Issue #123"],
    ["a text that only looks like JSON", textResult("{a}"), "{a}"],
    ["a number", textResult("5"), "5"],
    [
      "several texts",
      { content: [...textResult("a").content, ...textResult('{"b":1}').content] },
      ["a", { b: 1 }],
    ],
    ["nothing", { content: [] }, null],
    [
      "an id that parsing would change",
      textResult('{"id":12345678901234567890}'),
      '{"id":12345678901234567890}',
    ],
    ["a number that is too large", textResult("[1e400]"), "[1e400]"],
  ])("of %s keeps it whole", (_what, answer, result) => {
    expect(toResult(answer)).toEqual({ success: true, result });
  });

  test("has the content beside the result where there is more than text", () => {
    const content = [...textResult("A cat.").content, image];
    expect(toResult({ content })).toEqual({ success: true, result: "A cat.", content });
  });

  test("is an error where the tool says so", () => {
    expect(toResult({ ...textResult("API rate limit exceeded"), isError: true })).toEqual({
      success: false,
      error: {
        code: "TOOL_EXECUTION_ERROR",
        message: "API rate limit exceeded",
        server: "github",
        tool: "create_issue",
      },
    });
    expect(toResult({ content: [], structuredContent: { retryAfter: 60 }, isError: true })).toMatchObject({
      success: false,
      error: { message: "The tool failed and did not say why.", details: { retryAfter: 60 } },
    });
  });

  test("loses nothing of any JSON object or text", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const text = JSON.stringify(value);
        const { result } = toResult(textResult(text));
        expect(typeof result === "string" ? result : JSON.stringify(result)).toBe(text);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        const { result } = toResult(textResult(text));
        expect(typeof result === "string" ? result : JSON.parse(text)).toEqual(result);
      }),
    );
  });
});

describe("execute_tool with the option answers.envelope", () => {
  const tools = localTools("github", { id: "github" }, [
    { name: "create_issue", inputSchema: { type: "object" }, run: () => textResult(JSON.stringify(issue)) },
    { name: "fail", inputSchema: { type: "object" }, run: () => ({ ...textResult("No."), isError: true }) },
    { name: "draw", inputSchema: { type: "object" }, run: () => ({ content: [image] }) },
  ]);

  async function execute(tool: string, answers: object): Promise<ToolResult> {
    const gateway = await createGateway({ preset: anygpt, plugins: [tools], options: { answers } });
    const args = { server: "github", tool, arguments: {} };
    const call = await gateway.run({ tool: "anygpt:execute_tool", args });
    await gateway.close();
    if (!call.ok) throw call.error;
    return call.result;
  }

  test("wraps a result, and an error", async () => {
    const created = await execute("create_issue", { envelope: true });
    expect(created).not.toHaveProperty("isError");
    expect(JSON.parse(String(created.content[0]?.["text"]))).toEqual({ success: true, result: issue });
    const failed = await execute("fail", { envelope: true });
    expect(failed.isError).toBe(true);
    expect(JSON.parse(String(failed.content[0]?.["text"]))).toEqual({
      success: false,
      error: { code: "TOOL_EXECUTION_ERROR", message: "No.", server: "github", tool: "fail" },
    });
  });

  test("keeps an image beside it, and is structured content where that is wanted", async () => {
    const drawn = await execute("draw", { envelope: true, structured: true });
    expect(drawn).toEqual({
      content: [{ type: "text", text: '{"success":true,"result":null}' }, image],
      structuredContent: { success: true, result: null },
    });
  });

  test("is off by default: an agent gets what the tool returned", async () => {
    expect(await execute("create_issue", {})).toEqual(textResult(JSON.stringify(issue)));
  });

  test("is what a program gets in any case", async () => {
    const gateway = await createGateway({ preset: anygpt, plugins: [tools] });
    const engine = createEngine(gateway);
    const { result } = await engine.executeTool("github", "create_issue", {});
    expect(result.issue_number).toBe(123);
    const events: unknown[] = [];
    for await (const event of engine.executeStream("github", "create_issue", {})) events.push(event);
    expect(events).toEqual([{ type: "result", success: true, result: issue }]);
    await gateway.close();
  });
});
