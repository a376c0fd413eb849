import fc from "fast-check";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import { findIdentifierFault, toSkeleton } from "../core/catalog.ts";
import type { Gateway, JsonObject } from "../core/mod.ts";
import { estimateTokens } from "../plugins/lib/tokens.ts";
import { toToolDetails } from "../presets/anygpt/details.ts";
import { describeAnygptTools, writeAnygptInstructions } from "../presets/anygpt/mod.ts";
import { openCatalog, sampleCatalog } from "./presets/_anygpt-catalog.ts";
import { readText } from "./support/failure.ts";
import { realCatalog, realQueries } from "./support/real-catalog.ts";

const isReal = realCatalog().length > 0;
const catalog = isReal ? realCatalog() : sampleCatalog;
const tokens = (text: string): number => encode(text).length;

/** The list as a client receives it. */
function listTools(gateway: Gateway): string {
  const tools = describeAnygptTools(gateway).map(({ name, description, inputSchema, annotations }) => ({
    name,
    description,
    inputSchema,
    annotations,
  }));
  return JSON.stringify({ tools });
}

async function ask(gateway: Gateway, tool: string, args: object): Promise<string> {
  return readText(await gateway.run({ tool: `anygpt:${tool}`, args }));
}

/** The value that so much of a list is not above. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}

test("the whole list of tools takes at most 400 tokens", async () => {
  const gateway = await openCatalog(catalog);
  const list = listTools(gateway);
  // A real tool whose texts hold invisible characters is held back.
  expect(list).toContain(`${gateway.catalog.tools().filter(({ enabled }) => enabled).length} tools`);
  expect(tokens(list)).toBeLessThanOrEqual(400);
});

test("the list and the instructions stay within their tokens whatever servers are called", async () => {
  const id = fc.oneof(
    fc.string({ minLength: 1, maxLength: 80, unit: "binary" }),
    fc.stringMatching(/^[\w-]{1,60}$/),
  );
  const ids = fc.uniqueArray(
    id.filter((name) => !name.includes(":") && name !== "anygpt" && findIdentifierFault(name) === undefined),
    // Two that look the same could not be told apart, so the second is refused.
    { maxLength: 30, selector: toSkeleton },
  );
  await fc.assert(
    fc.asyncProperty(ids, async (names) => {
      const gateway = await openCatalog(names.map((server) => ({ server, name: "t", inputSchema: {} })));
      expect(tokens(listTools(gateway))).toBeLessThanOrEqual(400);
      expect(tokens(writeAnygptInstructions(gateway))).toBeLessThanOrEqual(200);
      await gateway.close();
    }),
    { numRuns: 25 },
  );
});

test("instructions take at most 200 tokens", async () => {
  const gateway = await openCatalog(catalog);
  expect(tokens(writeAnygptInstructions(gateway))).toBeLessThanOrEqual(200);
});

describe("a search", () => {
  // Queries that people sent, and descriptions that tools have.
  const queries = [
    ...realQueries(),
    ...catalog.flatMap(({ name, description = "" }, index) =>
      index % 30 === 0 || !isReal ? [name, description.slice(0, 80)] : [],
    ),
  ];

  test("is packed to 200 tokens, and uses most of them where it does not fit", async () => {
    const gateway = await openCatalog(catalog);
    const taken: number[] = [];
    for (const query of queries) {
      const text = await ask(gateway, "search_tools", { query });
      const { more } = JSON.parse(text) as JsonObject;
      taken.push(tokens(text));
      if (more !== undefined) expect(tokens(text)).toBeGreaterThan(120);
    }
    expect(percentile(taken, 0.99)).toBeLessThanOrEqual(200);
    expect(percentile(taken, 1)).toBeLessThanOrEqual(220);
  });

  test("keeps to another number of tokens where the config has one", async () => {
    const gateway = await openCatalog(catalog, { answers: { searchTokens: 100 } });
    for (const query of queries.slice(0, 20)) {
      expect(tokens(await ask(gateway, "search_tools", { query }))).toBeLessThanOrEqual(110);
    }
  });
});

describe("the details of a tool", () => {
  test("take at most 100 tokens at the median, in the shape of the specification", async () => {
    const gateway = await openCatalog(catalog);
    const taken: number[] = [];
    const ratios: number[] = [];
    for (const { server, name, enabled } of gateway.catalog.tools()) {
      if (!enabled) continue;
      const text = await ask(gateway, "get_tool_details", { server, tool: name });
      const { examples: _, ...details } = JSON.parse(text);
      expect(Object.keys(details)).toEqual(["server", "tool", "description", "parameters"]);
      taken.push(tokens(text));
      ratios.push(tokens(text) / estimateTokens(text));
    }
    expect(percentile(taken, 0.5)).toBeLessThanOrEqual(100);
    // Descriptions are shortened by an estimate, so the estimate must hold.
    expect(percentile(ratios, 0.99)).toBeLessThanOrEqual(1.02);
    expect(percentile(ratios, 0.5)).toBeGreaterThan(0.85);
  }, 60_000);

  test("take less as a signature, and more as a schema", async () => {
    const tools = (await openCatalog(catalog)).catalog
      .tools()
      .filter((_, index) => index % 10 === 0 || !isReal);
    const [signature, parameters, schema] = (["signature", "parameters", "schema"] as const).map((style) =>
      percentile(
        tools.map((tool) => tokens(JSON.stringify(toToolDetails(tool, style, 100)))),
        0.9,
      ),
    );
    expect(signature).toBeLessThan(Number(parameters));
    if (isReal) expect(parameters).toBeLessThan(Number(schema));
  });
});

describe("the estimate of tokens", () => {
  test("holds for strings of any script", () => {
    const texts = [
      "Создать новую задачу в репозитории и назначить её пользователю",
      "リポジトリに新しい課題を作成し、担当者を割り当てます",
      "创建一个新的问题并分配给用户，然后返回它的编号",
      "ایجاد یک مسئله جدید در مخزن و اختصاص آن به کاربر",
      "🚀🎉 ship it — then → celebrate ✅",
    ];
    for (const text of texts) expect(estimateTokens(text)).toBeGreaterThanOrEqual(tokens(text) * 0.95);
    fc.assert(
      fc.property(fc.string({ minLength: 20, maxLength: 200, unit: "grapheme" }), (text) => {
        expect(estimateTokens(text)).toBeGreaterThan(tokens(text) * 0.6);
      }),
      // An estimate can be wrong by any factor for some nonsense; these are the same every time.
      { seed: 1, numRuns: 300 },
    );
  });
});
