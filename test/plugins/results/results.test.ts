import { Buffer } from "node:buffer";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type Actor,
  type ContentBlock,
  type Gateway,
  GatewayError,
  localUser,
  type ToolResult,
  textResult,
} from "../../../core/mod.ts";
import { RESOURCE_NOT_FOUND, type Resource, type ResourceResult } from "../../../core/services/resources.ts";
import type { Results } from "../../../core/services/results.ts";
import { type ResultsOptions, results } from "../../../plugins/results/mod.ts";
import { catchFailure, getError } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";

const ada: Actor = { id: "ada", scopes: [] };
const bob: Actor = { id: "bob", scopes: [] };
const URIS = /toolpipe:\/\/[\w/?=-]+/g;

/** The resources of the plugin, as a client has them. */
interface Resources {
  list(options: { readonly actor: Actor }): Promise<readonly Resource[]>;
  read(uri: string, options?: { readonly actor: Actor }): Promise<ResourceResult>;
}

function getResources(gateway: Gateway): Resources {
  const provider = gateway.drivers("resources").get("results");
  if (!provider) throw new Error("The plugin offers nothing.");
  return {
    list: async (options) => provider.list(options),
    async read(uri, { actor } = { actor: localUser }) {
      const read = await provider.read(uri, { actor });
      if (read) return read;
      throw new GatewayError(RESOURCE_NOT_FOUND, "It is of another plugin.");
    },
  };
}

interface Opened {
  readonly gateway: Gateway;
  readonly kept: Results;
  readonly resources: Resources;
}

async function openResults(options: ResultsOptions = {}, previous?: Gateway): Promise<Opened> {
  const gateway = await openGateway({ plugins: [results({ maxBytes: 4_000, ...options })], previous });
  const { results: kept } = gateway.services;
  if (!kept) throw new Error("The plugin offers nothing.");
  return { gateway, kept, resources: getResources(gateway) };
}

function readTexts({ content }: ToolResult): string[] {
  return content.flatMap((block) => (block.type === "text" ? [String(block["text"])] : []));
}

function listLinks({ content }: ToolResult): ContentBlock[] {
  return content.filter(({ type }) => type === "resource_link");
}

/** The one URI to read on with, which the note and the link both name. */
function findNextLink(result: ToolResult): string {
  const [link, ...more] = listLinks(result);
  expect(more).toEqual([]);
  expect(readTexts(result).at(-1)?.match(URIS)).toEqual([link?.["uri"]]);
  return String(link?.["uri"]);
}

/** Everything from a URI on, as a program reads it. */
async function readAll(resources: Resources, first: string): Promise<string> {
  let text = "";
  for (let uri: unknown = first; typeof uri === "string"; ) {
    const { contents, _meta } = await resources.read(uri, { actor: ada });
    const [page, pointer] = contents;
    expect(page?.uri).toBe(uri);
    expect(Buffer.byteLength(contents.map((one) => one.text).join(""))).toBeLessThanOrEqual(4_000);
    uri = _meta?.["toolpipe/next"];
    expect(pointer?.uri).toBe(uri);
    text += page?.text;
  }
  return text;
}

describe("a result that fits", () => {
  test.each<[string, ToolResult]>([
    ["of text", textResult("a".repeat(4_000))],
    ["with an image", { content: [{ type: "image", data: "A".repeat(900_000), mimeType: "image/png" }] }],
    [
      "with everything",
      { ...textResult("a"), structuredContent: { a: [1] }, isError: true, _meta: { b: 1 } },
    ],
    ["that is odd", { content: [{ type: "hologram", beam: null }, { type: "text" } as never] }],
  ])("%s is passed on as the very same object", async (_what, result) => {
    const { kept, resources } = await openResults();
    expect(kept.fit(result, ada)).toBe(result);
    expect(await resources.list({ actor: ada })).toEqual([]);
  });
});

describe("a text block over the budget", () => {
  const lines = Array.from({ length: 1_000 }, (_, index) => `line ${index} — größer 😀`);
  const text = lines.join("\n");

  test("is cut after a line, with how much is left and how to read it, as a link and as words", async () => {
    const { kept, resources } = await openResults();
    const annotations = { audience: ["user"] };
    const result = {
      content: [{ type: "text", text, annotations }],
      isError: true,
      _meta: { "example.com/trace": "1" },
    };
    const fitted = kept.fit(result, ada);
    expect(fitted).toMatchObject({ isError: true, _meta: result._meta });
    const [first = "", note = ""] = readTexts(fitted);
    expect(fitted.content[0]).toEqual({ type: "text", text: first, annotations });
    expect(text.startsWith(first) && first.endsWith("\n")).toBe(true);
    expect(first.length).toBeGreaterThan(2_000);
    expect(Buffer.byteLength(first + note)).toBeLessThanOrEqual(4_000);
    expect(note).toContain(`${(text.length - first.length).toLocaleString("en")} characters more of text`);
    expect(note).toContain('the tool "read_result" of the server "toolpipe"');
    expect(first + (await readAll(resources, findNextLink(fitted)))).toBe(text);
  });

  test("is read on by an agent that has nothing but tools", async () => {
    const { gateway, kept } = await openResults();
    let fitted = kept.fit(textResult(text), ada);
    let read = readTexts(fitted)[0] ?? "";
    for (let pages = 0; listLinks(fitted).length > 0 && pages < 100; pages++) {
      const args = JSON.parse(/\{.*?\}/.exec(readTexts(fitted).at(-1) ?? "")?.[0] ?? "");
      const call = await gateway.run({ tool: "toolpipe:read_result", args, actor: ada });
      if (!call.ok) throw call.error;
      fitted = call.result;
      expect(kept.fit(fitted, ada)).toBe(fitted);
      read += readTexts(fitted)[0];
    }
    expect(read).toBe(text);
  });

  test("may be several: what comes after the cut is read together", async () => {
    const { kept, resources } = await openResults();
    const blocks = ["a".repeat(1_000), "b".repeat(5_000), "c"].map((one) => ({ type: "text", text: one }));
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    const fitted = kept.fit({ content: [...blocks.slice(0, 2), image, ...blocks.slice(2)] }, ada);
    expect(fitted.content.map(({ type }) => type)).toEqual([
      "text",
      "text",
      "image",
      "text",
      "resource_link",
    ]);
    const [a, b] = readTexts(fitted);
    expect(`${a}\n${b}${await readAll(resources, findNextLink(fitted))}`).toBe(
      `${"a".repeat(1_000)}\n${"b".repeat(5_000)}\nc`,
    );
  });

  test("loses nothing, whatever it is", async () => {
    const { kept, resources } = await openResults();
    const piece = fc.string({
      unit: fc.constantFrom("word ", "\n", "é", "字", "😀", "\ud83d"),
      maxLength: 4_000,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 4 }), async (texts) => {
        const result = { content: texts.map((one) => ({ type: "text", text: one })) };
        const fitted = kept.fit(result, ada);
        if (fitted === result) return;
        expect(Buffer.byteLength(readTexts(fitted).join(""))).toBeLessThanOrEqual(4_000);
        const first = readTexts(fitted).slice(0, -1);
        const rest = await readAll(resources, findNextLink(fitted));
        const all = texts.join("\n");
        // Whole blocks are followed by a line break, and the one that is cut by the rest of it.
        expect([first.join("\n") + rest, `${first.join("\n")}\n${rest}`]).toContain(all);
      }),
      { numRuns: 50 },
    );
  });
});

describe("content that is no text block", () => {
  const image = { type: "image", data: "A".repeat(2_000_000), mimeType: "image/png" };

  test("is left out whole where it is too large, and read whole", async () => {
    const { gateway, kept, resources } = await openResults();
    const fitted = kept.fit({ content: [{ type: "text", text: "A cat:" }, image] }, ada);
    expect(fitted.content.map(({ type }) => type)).toEqual(["text", "resource_link", "text"]);
    const uri = findNextLink(fitted);
    expect((await resources.read(uri, { actor: ada })).contents).toEqual([
      { uri, mimeType: "image/png", blob: image.data },
    ]);
    const call = await gateway.run({ tool: "toolpipe:read_result", args: { uri }, actor: ada });
    expect(call.ok && call.result.content).toEqual([image]);
    // A caller that asks for it by name gets it, and not a link to it again.
    expect(call.ok && kept.fit({ ...call.result, _meta: {} }, ada).content).toEqual([image]);
  });

  test("has a budget of its own, so that images are kept", async () => {
    const { kept } = await openResults({ maxMediaBytes: 2_000_000 });
    const result = { content: [image] };
    expect(kept.fit(result, ada)).toBe(result);
  });

  test("gets a link each, up to a few; the others are read together", async () => {
    const { kept, resources } = await openResults({ maxMediaBytes: 0 });
    const images = Array.from({ length: 9 }, (_, index) => ({ ...image, data: `${index}` }));
    const fitted = kept.fit({ content: images }, ada);
    expect(listLinks(fitted)).toHaveLength(5);
    const { contents } = await resources.read(String(listLinks(fitted)[4]?.["uri"]), { actor: ada });
    expect(JSON.parse(String(contents[0]?.text))).toEqual(images.slice(4));
  });

  test("may be a text resource, which is read page by page", async () => {
    const { kept, resources } = await openResults();
    const text = "x".repeat(9_000);
    const resource = { uri: "file:///a.md", mimeType: "text/markdown", text };
    const fitted = kept.fit({ content: [{ type: "resource", resource }] }, ada);
    const uri = findNextLink(fitted);
    expect((await resources.read(uri, { actor: ada })).contents[0]).toMatchObject({
      mimeType: "text/markdown",
    });
    expect(await readAll(resources, uri)).toBe(text);
  });
});

describe("structured content over the budget", () => {
  const structuredContent = { rows: Array.from({ length: 500 }, (_, index) => ({ index, name: "é" })) };

  test("is left out, and read whole as JSON; the text block stays", async () => {
    const { kept, resources } = await openResults();
    const fitted = kept.fit({ ...textResult("500 rows"), structuredContent }, ada);
    expect(fitted).not.toHaveProperty("structuredContent");
    expect(readTexts(fitted)[0]).toBe("500 rows");
    expect(readTexts(fitted)[1]).toContain("structuredContent");
    const uri = findNextLink(fitted);
    expect((await resources.read(uri, { actor: ada })).contents[0]?.mimeType).toBe("application/json");
    expect(JSON.parse(await readAll(resources, uri))).toEqual(structuredContent);
  });

  test("stays where a client insists on it", async () => {
    const { kept } = await openResults();
    const result = { ...textResult("a".repeat(9_000)), structuredContent };
    const fitted = kept.fit(result, ada, { keepStructured: true });
    expect(fitted.structuredContent).toBe(structuredContent);
    expect(readTexts(fitted)[0]?.length).toBeLessThan(4_000);
  });

  test("that cannot be serialized is reported as such", async () => {
    const { kept } = await openResults();
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    const fitted = kept.fit({ ...textResult("deep"), structuredContent: deep }, ada);
    expect(fitted).not.toHaveProperty("structuredContent");
    expect(readTexts(fitted)[0]).toBe("deep");
  });
});

describe("a kept result", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const large = textResult("x".repeat(10_000));

  test("is found by the caller, and by no other", async () => {
    const { gateway, kept, resources } = await openResults();
    const uri = findNextLink(kept.fit(large, ada));
    expect((await catchFailure(resources.read(uri, { actor: bob }))).code).toBe(RESOURCE_NOT_FOUND.code);
    expect((await catchFailure(resources.read(uri))).code).toBe(RESOURCE_NOT_FOUND.code);
    const call = await gateway.run({ tool: "toolpipe:read_result", args: { uri }, actor: bob });
    expect(getError(call).code).toBe(RESOURCE_NOT_FOUND.code);
    expect(await resources.list({ actor: bob })).toEqual([]);
    expect(await resources.list({ actor: ada })).toEqual([
      { uri: uri.split("?")[0], name: "text of a result", mimeType: "text/plain" },
    ]);
  });

  test("is gone some time after it was last read, and a reading gives the reason and what to do", async () => {
    const { kept, resources } = await openResults({ keepMs: 60_000 });
    const uri = findNextLink(kept.fit(large, ada));
    await vi.advanceTimersByTimeAsync(59_000);
    await resources.read(uri, { actor: ada });
    await vi.advanceTimersByTimeAsync(59_000);
    await resources.read(uri, { actor: ada });
    await vi.advanceTimersByTimeAsync(60_000);
    const error = await catchFailure(resources.read(uri, { actor: ada }));
    expect(error).toMatchObject({ code: RESOURCE_NOT_FOUND.code, data: { uri } });
    expect(error.message).toContain("kept for 1 min");
    expect(error.message).toContain("execute it again");
    expect(await resources.list({ actor: ada })).toEqual([]);
  });

  test("is bounded in bytes: the oldest goes first", async () => {
    const { kept, resources } = await openResults({ maxKeptBytes: 25_000 });
    const [first = "", second = "", third = ""] = [1, 2, 3].map(() => findNextLink(kept.fit(large, ada)));
    await expect(resources.read(first, { actor: ada })).rejects.toThrow();
    await resources.read(second, { actor: ada });
    await resources.read(third, { actor: ada });
  });

  test("is not what is too large to be kept, and then that is said", async () => {
    const { kept } = await openResults({ maxKeptBytes: 5_000 });
    const fitted = kept.fit(large, ada);
    expect(listLinks(fitted)).toEqual([]);
    expect(readTexts(fitted).at(-1)).toContain("too large to be kept");
  });

  test("has names that cannot be guessed", async () => {
    const { kept } = await openResults();
    const uris = Array.from({ length: 50 }, () => findNextLink(kept.fit(large, ada)));
    expect(new Set(uris).size).toBe(50);
    for (const uri of uris) expect(uri).toMatch(/^toolpipe:\/\/results\/[\w-]{22}\/text\?offset=\d+$/);
  });

  test.each([
    "toolpipe://results/",
    "toolpipe://results/abc",
    "toolpipe://results/AAAAAAAAAAAAAAAAAAAAAA",
    "toolpipe://results/AAAAAAAAAAAAAAAAAAAAAA/text?offset=-1",
    "toolpipe://results/../secret",
  ])("is not found under %s", async (uri) => {
    const { resources } = await openResults();
    expect((await catchFailure(resources.read(uri))).code).toBe(RESOURCE_NOT_FOUND.code);
  });

  test("is read to its end by any offset, and an offset past the end is the end", async () => {
    const { kept, resources } = await openResults();
    const uri = findNextLink(kept.fit(textResult("😀".repeat(4_000)), ada)).split("?")[0];
    const within = await resources.read(`${uri}?offset=7`, { actor: ada });
    expect(within.contents[0]?.text?.startsWith("😀")).toBe(true);
    expect((await resources.read(`${uri}?offset=999999`, { actor: ada })).contents).toEqual([
      { uri: `${uri}?offset=999999`, mimeType: "text/plain", text: "" },
    ]);
  });

  test("can be read through the gateway that comes after", async () => {
    const before = await openResults();
    const uri = findNextLink(before.kept.fit(large, ada));
    const other = await openResults();
    await expect(other.resources.read(uri, { actor: ada })).rejects.toThrow();
    const after = await openResults({}, before.gateway);
    expect(await readAll(after.resources, uri)).toHaveLength(10_000 - Number(uri.split("=")[1]));
    await expect(after.resources.read(uri, { actor: bob })).rejects.toThrow();
  });
});

describe("the tool to read on with", () => {
  test("is in no list", async () => {
    const { gateway } = await openResults();
    expect(gateway.catalog.tools()).toEqual([]);
    expect(gateway.catalog.servers()).toEqual([]);
  });

  test("says of a URI that is none of a result that it is not", async () => {
    const { gateway } = await openResults();
    const call = await gateway.run({ tool: "toolpipe:read_result", args: { uri: "file:///etc/passwd" } });
    expect(call.ok && call.result.isError).toBe(true);
  });

  test("leaves a tool of the same name to the server that has it", async () => {
    const { gateway } = await openResults();
    await gateway.catalog.replace({ id: "toolpipe" }, [{ name: "read_result", inputSchema: {} }]);
    const call = await gateway.run({ tool: "toolpipe:read_result", args: {} });
    expect(getError(call).code).toBe("UNANSWERED");
  });
});

test("a call that is waited for no longer is read once it is over; only so many may be", async () => {
  const { gateway, kept, resources } = await openResults({ maxRunning: 1, waitMs: 50 });
  let finish: (result: ToolResult) => void = () => {};
  const result = new Promise<ToolResult>((resolve) => {
    finish = resolve;
  });
  const call = { actor: ada, name: '"a:b"', progress: () => ({ progress: 3, total: 9, message: "reading" }) };
  const answer = kept.later(result, call);
  if (!answer) throw new Error("It was expected to be taken.");
  expect(kept.later(result, call)).toBe(undefined);
  const uri = findNextLink({ content: [...answer.content].reverse() as ContentBlock[] });
  const running = await resources.read(uri, { actor: ada });
  expect(running.contents[0]?.text).toMatch(/"a:b" is still running.*3 of 9 \(reading\)/);
  expect(await resources.list({ actor: ada })).toMatchObject([{ uri, name: '"a:b"' }]);
  await expect(resources.read(uri, { actor: bob })).rejects.toThrow();

  const reading = gateway.run({ tool: "toolpipe:read_result", args: { uri }, actor: ada });
  const done = { ...textResult("x".repeat(9_000)), isError: true };
  finish(done);
  const read = await reading;
  if (!read.ok) throw read.error;
  // Also this one is cut, under the same id.
  expect(read.result.isError).toBe(true);
  expect(findNextLink(read.result)).toContain(uri);
  expect((readTexts(read.result)[0] ?? "") + (await readAll(resources, findNextLink(read.result)))).toBe(
    "x".repeat(9_000),
  );
  const whole = await resources.read(uri, { actor: ada });
  expect(whole._meta).toEqual({ "toolpipe/isError": true });
  expect(whole.contents[0]).toMatchObject({ uri, mimeType: "text/plain" });
  expect(kept.later(Promise.resolve(done), call)).toBeDefined();
});

test("results() is checked", () => {
  expect(() => results({ maxBytes: 5 })).toThrow("maxBytes: expected a whole number, 4,000 or more");
  expect(() => results({ waitMs: -1 })).toThrow("waitMs");
});
