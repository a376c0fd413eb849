import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CategoryContext, inferCategories } from "../../../../plugins/discovery/domains/mod.ts";
import { realCatalog } from "../../../support/real-catalog.ts";

interface Label {
  readonly server: string;
  readonly tool: string;
  readonly categories: readonly string[];
}

/** 200 tools of real servers, chosen by chance, with every category that a reviewer found right for each. */
const labels = JSON.parse(
  readFileSync(new URL("../../../fixtures/categories.json", import.meta.url), "utf8"),
) as readonly Label[];
const catalog = realCatalog();

/** The share of categories that are right, and of tools that have one. */
function measure(context: (label: Label) => CategoryContext): { precision: number; covered: number } {
  const found = labels.map((label) => ({ label, categories: inferCategories(label.tool, context(label)) }));
  const all = found.flatMap(({ label, categories }) =>
    categories.map((category) => label.categories.includes(category)),
  );
  return {
    precision: all.filter(Boolean).length / all.length,
    covered: found.filter(({ categories }) => categories.length > 0).length / labels.length,
  };
}

describe("what a tool does", () => {
  test.each([
    ["list_issues", ["crud.read"]],
    ["create_issue", ["crud.create"]],
    ["search_code", ["crud.read", "search"]],
    ["update_issue", ["crud.update"]],
    ["deleteRepository", ["crud.delete"]],
    ["create_or_update_file", ["crud.create", "crud.update"]],
    ["search_index_get", ["crud.read"]],
    ["create_list", ["crud.create"]],
    ["run_command", ["execute"]],
    ["send_message", ["communicate"]],
    ["send_keys", ["execute"]],
    ["calculate_distance", ["compute"]],
    ["xyzzy", []],
    ["", []],
  ])("is seen from %j: %j", (name, categories) => {
    expect(inferCategories(name)).toEqual(categories);
  });

  test.each<[string, CategoryContext, string[]]>([
    ["d1_query", { description: "Execute a SQL query against a database" }, ["execute"]],
    ["indexes", { description: "Retrieves all of them" }, ["crud.read"]],
    ["xyzzy", { annotations: { readOnlyHint: true } }, ["crud.read"]],
    ["delete_file", { description: "Reads a file", annotations: { readOnlyHint: true } }, ["crud.delete"]],
  ])("is seen from %j with %j: %j", (name, context, categories) => {
    expect(inferCategories(name, context)).toEqual(categories);
  });

  test("is inferred from whatever a server says, without an end in sight", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ maxLength: 2_000 }), (name, description) => {
        const found = inferCategories(name, { description });
        expect(new Set(found).size).toBe(found.length);
      }),
    );
  });
});

describe("of 200 tools of real servers", () => {
  test("nine of ten categories are right by the name alone", () => {
    expect(labels).toHaveLength(200);
    const { precision, covered } = measure(() => ({}));
    expect(precision).toBeGreaterThanOrEqual(0.9);
    expect(covered).toBeGreaterThanOrEqual(0.9);
  });

  test.skipIf(catalog.length === 0)("and with their descriptions, which 95 of 100 get one by", () => {
    const tools = new Map(catalog.map((tool) => [`${tool.server} ${tool.name}`, tool]));
    const { precision } = measure(({ server, tool }) => tools.get(`${server} ${tool}`) ?? {});
    expect(precision).toBeGreaterThanOrEqual(0.9);
    const covered = catalog.filter((tool) => inferCategories(tool.name, tool).length > 0).length;
    expect(covered / catalog.length).toBeGreaterThanOrEqual(0.95);
  });
});
