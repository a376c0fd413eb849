import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { definePreset, type JsonObject, localTools } from "../../../core/mod.ts";
import { demo } from "../../../plugins/demo.ts";
import { connected } from "../../plugins/mcp/_stdio.ts";
import { ask, readAnswer, send, serveGateway } from "../../plugins/serve/_http.ts";
import { connectStdio } from "../../plugins/serve/_stdio.ts";
import { getError } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { faulty } from "../../support/stdio-servers.ts";

const DEPTH = 100_000;

/** JSON of so many levels, each a list or an object. */
function nested(depth: number, kinds: readonly boolean[] = [true]): string {
  const isList = (level: number): boolean => kinds[level % kinds.length] ?? true;
  let [open, close] = ["", ""];
  const closing: string[] = [];
  const opening: string[] = [];
  for (let level = 0; level < depth; level++) {
    opening.push(isList(level) ? "[" : '{"a":');
    closing.push(isList(level) ? "]" : "}");
  }
  open = opening.join("");
  close = closing.toReversed().join("");
  return `${open}1${close}`;
}

function nestedValue(depth: number, kinds: readonly boolean[]): unknown {
  let value: unknown = 1;
  for (let level = depth; level-- > 0; ) value = kinds[level % kinds.length] ? [value] : { a: value };
  return value;
}

const shapes = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 });

describe("fault 10: arguments nested without an end", () => {
  test("are refused before anything walks them, whatever their shape and however deep", async () => {
    const gateway = await openGateway({ plugins: [demo()] });
    await fc.assert(
      fc.asyncProperty(shapes, fc.integer({ min: 65, max: DEPTH }), async (kinds, depth) => {
        const call = await gateway.run({ tool: "demo:add", args: { a: nestedValue(depth, kinds) } });
        expect(getError(call).code).toBe("ARGUMENTS_TOO_DEEP");
      }),
      { numRuns: 20 },
    );
  });

  test("are refused over standard input before they are parsed, with their id, and the next request is answered", async () => {
    const client = await connectStdio({ preset: definePreset({ name: "all", plugins: [demo()] }) });
    for (const kinds of [[true], [false], [true, false]]) {
      const args = nested(DEPTH, kinds);
      client.write(
        `{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"add","arguments":${args}}}\n`,
      );
      const { error } = await client.find(({ id }) => id === "deep");
      expect(error).toMatchObject({ code: -32600, message: expect.stringContaining("nested too deeply") });
    }
    const params = { name: "add", arguments: { a: 1, b: 2 } };
    expect((await client.request("tools/call", params))["result"]).toMatchObject({
      content: [{ text: "3" }],
    });
  });

  test("are refused over HTTP before they are parsed, with their id", async () => {
    const { url } = await serveGateway();
    const body = `{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"now","arguments":${nested(DEPTH)}}}`;
    const response = await send(url, body);
    expect(response.status).toBe(400);
    expect(await readAnswer(response)).toMatchObject({
      id: "deep",
      error: { code: -32600, message: expect.stringContaining("nested too deeply") },
    });
  });
});

describe("fault 10: a result nested without an end", () => {
  test("fails its call alone, before it is parsed", async () => {
    await using upstream = await connected(faulty("deep"));
    await expect(upstream.call("fault", { depth: DEPTH })).rejects.toMatchObject({
      code: "RESPONSE_TOO_DEEP",
    });
    await expect(upstream.call("echo", { text: "still here" })).resolves.toMatchObject({
      content: [{ text: "still here" }],
    });
  });

  /** Something that JSON cannot hold, and which is nested without an end too. */
  const loop: JsonObject = {};
  loop["loop"] = loop;

  test.each([
    // Some engines can write it, and then it is the client's to read.
    ["nested deeply", nestedValue(DEPTH, [true, false]), ["error", "result"]],
    ["a loop", loop, ["error"]],
    ["no JSON", 5n, ["error"]],
  ])(
    "that a plugin made and is %s ends its own call alone, over both ways of serving",
    async (_what, value, ways) => {
      const own = localTools("own", { id: "own" }, [
        { name: "structured", inputSchema: {}, run: () => ({ content: [], structuredContent: value }) },
        { name: "block", inputSchema: {}, run: () => ({ content: [{ type: "hologram", value }] }) },
        { name: "now", inputSchema: {}, run: () => ({ content: [] }) },
      ]);
      const config = { preset: definePreset({ name: "all", plugins: [own] }) };
      const client = await connectStdio(config);
      const { url } = await serveGateway(config);
      for (const asked of [
        (name: string): Promise<JsonObject> => client.request("tools/call", { name }),
        (name: string): Promise<JsonObject> => readAnswer(ask(url, "tools/call", { name })),
      ]) {
        for (const name of ["structured", "block"]) {
          expect(ways).toContain(Object.keys(await asked(name)).at(-1));
          expect((await asked("now"))["result"]).toEqual({ content: [] });
        }
      }
      const batch = ["structured", "now"].map((name) => ({
        jsonrpc: "2.0",
        id: name,
        method: "tools/call",
        params: { name },
      }));
      const answers = (await (await send(url, batch)).json()) as JsonObject[];
      expect(ways).toContain(Object.keys(answers.find(({ id }) => id === "structured") ?? {}).at(-1));
      expect(answers.find(({ id }) => id === "now")).toHaveProperty("result");
    },
  );
});
