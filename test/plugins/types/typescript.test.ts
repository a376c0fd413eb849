import { expect, test } from "vitest";
import { typeDeclarations, typescript } from "../../../plugins/types/mod.ts";
import { manifest } from "../../contracts/type-emitter.ts";
import { findFaults } from "../../support/compiler.ts";

const text = { type: "string" };
const closed = (properties: object, required: readonly string[] = []): object => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

const cases: readonly (readonly [what: string, schema: unknown, type: string])[] = [
  ["a text", text, "string"],
  ["a whole number", { type: "integer" }, "number"],
  ["several types", { type: ["string", "number", "null"] }, "string | number | null"],
  ["nullable, as OpenAPI says it", { type: "string", nullable: true }, "string | null"],
  ["an enum", { enum: ["a", 1, -2.5, true, null] }, '"a" | 1 | -2.5 | true | null'],
  ["a constant", { const: 'it\'s "a\\b"\n\u2028' }, '"it\'s \\"a\\\\b\\"\\n\\u2028"'],
  [
    "a constant object",
    { const: { a: [1, "x"], "b-c": {} } },
    '{ a: [1, "x"]; "b-c": { [key: string]: never } }',
  ],
  ["a text too long to be a type", { const: "a".repeat(2_000) }, "string"],
  ["a constant too large to be a type", { const: Array(2_000).fill(1) }, "unknown[]"],
  ["a list", { type: "array", items: text }, "string[]"],
  ["a list of a choice", { type: "array", items: { type: ["string", "null"] } }, "(string | null)[]"],
  ["a list of anything", { type: "array" }, "unknown[]"],
  ["a list of nothing", { type: "array", items: false }, "[]"],
  [
    "a tuple that may be shorter and longer",
    { prefixItems: [text, { type: "number" }] },
    "[string?, number?, ...unknown[]]",
  ],
  ["a pair", { prefixItems: [text, { type: "number" }], minItems: 2, items: false }, "[string, number]"],
  ["a pair by its length", { prefixItems: [text, text], minItems: 2, maxItems: 2 }, "[string, string]"],
  [
    "a tuple that goes on",
    { prefixItems: [text], minItems: 1, items: { type: ["number", "null"] } },
    "[string, ...(number | null)[]]",
  ],
  ["a pair of an older draft", { type: "array", items: [text], additionalItems: false }, "[string?]"],
  ["an object", closed({ a: text, "b-c": { type: "number" } }, ["a"]), '{ a: string; "b-c"?: number }'],
  ["an object that may hold more", { properties: { a: text } }, "{ a?: string; [key: string]: unknown }"],
  ["an object of anything", { type: "object" }, "{ [key: string]: unknown }"],
  ["an object of nothing", closed({}), "{ [key: string]: never }"],
  [
    "values by keys",
    { type: "object", additionalProperties: { type: "number" } },
    "{ [key: string]: number }",
  ],
  [
    "values by keys beside others",
    { properties: { a: text, b: closed({}) }, required: ["b"], additionalProperties: { type: "number" } },
    "{ a?: string; b: { [key: string]: never }; [key: string]: number | string | undefined | object }",
  ],
  [
    "values by a pattern",
    { patternProperties: { "^[a-z]+$": text }, additionalProperties: false },
    "{ [key: string]: string }",
  ],
  [
    "values by a pattern that all keys match",
    { patternProperties: { ".*": text } },
    "{ [key: string]: string }",
  ],
  [
    "values by how keys begin",
    { patternProperties: { "^x-": text } },
    `{ [key: \`x-\${string}\`]: string; [key: string]: unknown }`,
  ],
  [
    "a key that is only required",
    { type: "object", required: ["a"] },
    "{ a: unknown; [key: string]: unknown }",
  ],
  [
    "a key that is required of a kind",
    { type: "object", required: ["a"], additionalProperties: text },
    "{ a: string; [key: string]: string }",
  ],
  ["a key that must not be there", closed({ a: false }), "{ a?: never }"],
  [
    "words of the language as keys",
    closed({ new: text, default: text, readonly: text }),
    "{ new?: string; default?: string; readonly?: string }",
  ],
  ["a choice", { anyOf: [text, { type: "number" }, text] }, "string | number"],
  ["a choice that may be anything", { anyOf: [text, {}] }, "unknown"],
  ["all at once", { allOf: [closed({ a: text }), closed({ b: text })] }, "{ a?: string } & { b?: string }"],
  [
    "all of a choice",
    { allOf: [{ anyOf: [closed({ a: text }), closed({ b: text })] }, closed({ c: text })] },
    "({ a?: string } | { b?: string }) & { c?: string }",
  ],
  [
    "a choice beside keys that only asks for keys",
    { ...closed({ a: text }), anyOf: [{ required: ["a"] }] },
    "{ a?: string }",
  ],
  ["what is not", { not: text }, "unknown"],
  ["what is not, beside what is", { type: "string", not: { const: "a" } }, "string"],
  ["a reference", { $defs: { a: text }, type: "array", items: { $ref: "#/$defs/a" } }, "string[]"],
  [
    "a reference without an end",
    { $ref: "#/$defs/a", $defs: { a: closed({ next: { $ref: "#/$defs/a" } }) } },
    "{ next?: object }",
  ],
  ["a reference to the whole", { type: "array", items: { $ref: "#" } }, "object[]"],
  ["a reference to another document", { $ref: "https://example.com/a.json" }, "unknown"],
  ["nothing", {}, "unknown"],
  ["true", true, "unknown"],
  ["false", false, "never"],
  ["no schema", 42, "unknown"],
];

test.each(cases)("%s", (_what, schema, type) => {
  expect(typescript.type(schema)).toBe(type);
});

test("all of these are TypeScript", async () => {
  expect(await findFaults(cases.map(([, , type]) => `export type T = ${type};`))).toEqual([]);
}, 60_000);

test("a tool is what it takes, what it gives, and what it is", () => {
  const tool = manifest({
    inputSchema: {
      type: "object",
      properties: {
        owner: { type: "string", description: "Whose it is." },
        state: { type: "string", enum: ["open", "closed"] },
        range: { type: "object", properties: { from: text }, description: "Lines\n\nof text  \n" },
      },
      required: ["owner"],
      additionalProperties: false,
    },
    outputSchema: {
      type: "array",
      items: closed({ id: { type: "integer" } }, ["id"]) as object,
      description: "All.",
    },
  });
  expect(typescript.declaration(tool)).toBe(`export interface ListIssuesInput {
  /** Whose it is. */
  owner: string;
  state?: "open" | "closed";
  /**
   * Lines
   *
   * of text
   */
  range?: {
    from?: string;
    [key: string]: unknown;
  };
}

/** All. */
export type ListIssuesOutput = {
  id: number;
}[];

/** List issues in a GitHub repository */
export type ListIssues = (input: ListIssuesInput) => Promise<ListIssuesOutput>;
`);
});

test("a tool that needs no arguments can be called without, and one that tells nothing gives anything", () => {
  expect(typescript.declaration(manifest({ toolName: "now" }))).toContain(
    "export type Now = (input?: NowInput) => Promise<unknown>;",
  );
});

test("a tool's type has its name, as far as a type can", async () => {
  const names: readonly (readonly [toolName: string, name: string])[] = [
    ["list_issues", "ListIssues"],
    ["API-post-page", "APIPostPage"],
    ["2captcha.solve", "Tool2captchaSolve"],
    ["日本", "Tool"],
    ["class", "Class"],
    ["promise", "PromiseTool"],
  ];
  const files = names.map(([toolName]) => typescript.declaration(manifest({ toolName })));
  expect(files.map((file) => /export type (\w+) = \(/.exec(file)?.[1])).toEqual(
    names.map(([, name]) => name),
  );
  expect(await findFaults(files)).toEqual([]);
}, 60_000);

test("references become named types, which may be recursive", async () => {
  const schema = {
    $defs: {
      node: closed({
        children: { type: "array", items: { $ref: "#/$defs/node" } },
        id: { $ref: "#/$defs/the id" },
      }),
      "the id": { type: ["string", "integer"], description: "Unique." },
    },
    properties: { tree: { $ref: "#/$defs/node" }, all: { $ref: "#" } },
    additionalProperties: false,
  };
  const text = typeDeclarations("T", schema);
  expect(text).toBe(`export interface T {
  tree?: TNode;
  all?: T;
}

export interface TNode {
  children?: TNode[];
  id?: TTheId;
}

/** Unique. */
export type TTheId = string | number;
`);
  expect(await findFaults([text])).toEqual([]);
}, 60_000);

test("types that lead back to themselves through nothing but references are left out there", async () => {
  const ref = (name: string): object => ({ $ref: `#/$defs/${name}` });
  const schema = {
    $defs: {
      a: { anyOf: [ref("b"), text] },
      b: { allOf: [ref("a"), { type: ["string", "number"] }] },
      c: ref("c"),
      d: { anyOf: [{ $ref: "#" }, { type: "array", items: ref("d") }] },
      e: { type: "object", additionalProperties: ref("e") },
      "f!": { const: 1 },
      "f?": { const: 2 },
    },
    anyOf: ["a", "b", "c", "d", "e", "f!", "f?"].map(ref),
  };
  const declared = typeDeclarations("T", schema);
  expect(declared).toContain("export type TA = string;");
  expect(declared).toContain("export type TD = TD[];");
  expect(await findFaults([declared])).toEqual([]);
}, 60_000);

test("choices that multiply beyond what a compiler works out are not multiplied", async () => {
  const choice = (from: number): object => ({
    anyOf: Array.from({ length: 60 }, (_, index) =>
      closed({ [`k${from + index}`]: text }, [`k${from + index}`]),
    ),
  });
  const schema = { allOf: [choice(0), choice(100), choice(200), choice(300)] };
  expect(
    await findFaults([typeDeclarations("T", schema), `export type T = ${typescript.type(schema)};`]),
  ).toEqual([]);
}, 60_000);

test("no description, name or value breaks out of its comment or literal", async () => {
  const evil = `*/ export const evil: number = 'x'; /* \`\${evil}\` " ' \\ \u2028 \u202e @ts-nocheck\n*/evil`;
  const schema = {
    type: "object",
    description: evil,
    properties: { [evil]: { enum: [evil, { [evil]: evil }], description: evil } },
    patternProperties: { [evil]: text, "^x-`": text },
    $defs: { [evil]: { const: evil, description: evil } },
    allOf: [{ $ref: `#/$defs/${encodeURIComponent(evil)}` }],
  };
  const file = typescript.declaration(
    manifest({ toolName: evil, description: evil, inputSchema: schema, outputSchema: schema }),
  );
  expect(await findFaults([file])).toEqual([]);
  const comments: string[] = [];
  const bare = file.replace(/"(?:[^"\\]|\\.)*"|\/\*[\s\S]*?\*\//g, (part) => {
    if (part.startsWith("/")) comments.push(part);
    return '""';
  });
  expect(bare).not.toMatch(/[`*]|\bconst\b|\bevil\b/);
  expect(comments.join("\n")).not.toContain("@ts-");
  expect(file).not.toMatch(/[\u2028\u202e]/);
}, 60_000);

test("a description that goes on and on is cut", () => {
  const file = typescript.declaration(manifest({ description: "word ".repeat(10_000) }));
  expect(file.length).toBeLessThan(2_000);
  expect(file).toContain("word… */");
});
