import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { shorten, summarize } from "../../../plugins/lib/text/shorten.ts";
import { fillSlots } from "../../../presets/anygpt/pack.ts";
import { getError, parseJson } from "../../support/failure.ts";
import { type CatalogTool, openCatalog, sampleCatalog } from "../_anygpt-catalog.ts";

const long = "One of the many words that no caller needs to read before a call. ".repeat(10).trim();
const wordy: CatalogTool = {
  server: "office",
  name: "file",
  description: `Files a [letter](https://example.com/letters).\n\n${long}`,
  inputSchema: {
    type: "object",
    properties: {
      id: { type: "integer", description: `The number. ${long}` },
      note: { type: "string", description: long },
      tree: { $ref: "#/$defs/tree" },
    },
    required: ["id"],
    $defs: { tree: { type: "object", properties: { leaves: { type: "array", items: { type: "string" } } } } },
  },
};

async function details(args: object, answers: object = {}): Promise<JsonObject> {
  const gateway = await openCatalog([wordy, ...sampleCatalog], { answers });
  return parseJson(await gateway.run({ tool: "anygpt:get_tool_details", args })) as JsonObject;
}

const file = { server: "office", tool: "file" };

test("shortens long descriptions at a word, required parameters least, and marks the cut", async () => {
  const { description, parameters } = (await details(file)) as {
    description: string;
    parameters: { name: string; type: string; description: string; required: boolean }[];
  };
  expect(description).toMatch(/^Files a letter\. One of .*\w…$/);
  const [id, note, tree] = parameters;
  expect(id).toMatchObject({ name: "id", type: "integer", required: true });
  expect(id?.description).toMatch(/^The number\. .*\w…$/);
  expect(note?.description.length).toBeLessThan(Number(id?.description.length));
  expect(tree).toEqual({ name: "tree", type: "{leaves?: string[]}", description: "", required: false });
});

test("full shows every word as its server has it", async () => {
  expect(await details({ ...file, full: true })).toEqual({
    server: "office",
    tool: "file",
    description: wordy.description,
    parameters: [
      { name: "id", type: "integer", description: `The number. ${long}`, required: true },
      { name: "note", type: "string", description: long, required: false },
      { name: "tree", type: "{leaves?: string[]}", description: "", required: false },
    ],
    examples: [{ description: expect.any(String), parameters: { id: expect.any(Number) } }],
  });
});

test("a short description is returned unchanged", async () => {
  expect(await details({ server: "time", tool: "get_current_time" })).toEqual({
    server: "time",
    tool: "get_current_time",
    description: "Get the current time in a specific timezone.",
    parameters: [
      {
        name: "timezone",
        type: "string",
        description: "IANA timezone name (e.g., 'America/New_York')",
        required: true,
      },
    ],
    examples: [{ description: expect.any(String), parameters: { timezone: expect.any(String) } }],
  });
});

describe("the config sets the style of parameters", () => {
  test("as a signature", async () => {
    expect(await details(file, { details: "signature" })).toEqual({
      server: "office",
      tool: "file",
      description: expect.stringMatching(/^Files a letter.*…$/),
      signature: "file(id: number, note?: string, tree?: {leaves?: string[]})",
    });
  });

  test("as the schema itself", async () => {
    const { inputSchema, parameters } = await details(file, { details: "schema" });
    expect(inputSchema).toEqual(wordy.inputSchema);
    expect(parameters).toBeUndefined();
  });

  test("with more room", async () => {
    const { description } = await details(file, { detailTokens: 2_000 });
    expect(String(description).length).toBeGreaterThan(350);
  });

  test.each([{ details: "html" }, { detailTokens: 1 }, { searchTokens: "many" }, { pinned: ["no-colon"] }])(
    "but not %j",
    async (answers) => {
      await expect(openCatalog([], { answers })).rejects.toMatchObject({ code: "PLUGIN_INVALID" });
    },
  );
});

describe("examples", () => {
  test("are included where they are requested", async () => {
    expect(await details(file)).not.toHaveProperty("examples");
    expect(await details({ server: "github", tool: "search_code", examples: true })).toMatchObject({
      examples: [{ description: expect.any(String), parameters: { q: "addClass in:file language:js" } }],
    });
  });

  test("are none where none can be found", async () => {
    const inputSchema = { properties: { a: { type: "string", pattern: "^q{9}-z$" } }, required: ["a"] };
    const gateway = await openCatalog([{ server: "s", name: "t", inputSchema }]);
    const args = { server: "s", tool: "t", examples: true };
    expect(parseJson(await gateway.run({ tool: "anygpt:get_tool_details", args }))).toMatchObject({
      examples: [],
    });
  });
});

test("a tool that is not there gets the names that are", async () => {
  const gateway = await openCatalog(sampleCatalog);
  const args = { server: "github", tool: "create_isue" };
  const error = getError(await gateway.run({ tool: "anygpt:get_tool_details", args }));
  expect(error).toMatchObject({ code: "TOOL_NOT_FOUND" });
  expect(error.message).toContain("Did you mean create_issue");
});

describe("a summary", () => {
  test.each([
    ["Reads a file. Then more.", "Reads a file."],
    ["Reads a file (e.g. a.txt) of a disk. More.", "Reads a file (e.g. a.txt) of a disk."],
    ["Uses v1.2 of it! More.", "Uses v1.2 of it!"],
    ["  Two\n lines  ", "Two lines"],
    ["See [the docs](https://example.com/a?b=c) first.", "See the docs first."],
    ["", ""],
    [undefined, ""],
  ])("of %j is %j", (description, summary) => {
    expect(summarize(description)).toBe(summary);
  });

  test("of a sentence without an end stops at a word", () => {
    const summary = summarize("word ".repeat(500));
    expect(summary).toMatch(/ word…$/);
    expect(summary.length).toBeLessThanOrEqual(240);
  });

  test("of an endless string takes no time", () => {
    const begun = performance.now();
    for (const part of ["a", "e.g. ", "[", "[a](", " "]) summarize(part.repeat(1_000_000));
    expect(performance.now() - begun).toBeLessThan(10_000);
  });
});

describe("a shortened string", () => {
  test.each([
    ["as it is", "as it is", 8],
    ["cut at a word", "cut at…", 8],
    ["without, what leads nowhere", "without…", 9],
    ["averyveryverylongword", "averyvery…", 10],
    ["𝒳𝒳𝒳𝒳", "𝒳…", 4],
    ["anything", "…", 1],
  ])("%j becomes %j", (text, expected, length) => {
    expect(shorten(text, length)).toBe(expected);
    expect(shorten(text, length).length).toBeLessThanOrEqual(length);
  });
});

test("all descriptions get room in turn before any gets more", () => {
  const text = "word ".repeat(40).trim();
  const [first, second, third] = fillSlots(
    [
      { text, lengths: [5, 20, 100] },
      { text, lengths: [5, 20, 100] },
      { text: "short", lengths: [1, 20] },
    ],
    30,
  );
  expect(third).toBe("short");
  expect([first, second].map((shortened) => shortened?.length)).toEqual(
    [99, 20].map((length) => expect.closeTo(length, -1)),
  );
});
