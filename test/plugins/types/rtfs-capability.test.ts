import { expect, test } from "vitest";
import { type CapabilityManifest, parseCapability, rtfs, rtfsType } from "../../../plugins/types/mod.ts";
import { manifest } from "../../contracts/type-emitter.ts";
import { realCatalog } from "../../support/real-catalog.ts";

const text = { type: "string" };
const whole = { type: "integer" };
const listIssues = manifest({
  inputSchema: {
    type: "object",
    properties: { owner: text, repo: text, state: { type: "string", enum: ["open", "closed", "all"] } },
    required: ["owner", "repo"],
  },
  outputSchema: {
    type: "array",
    items: {
      type: "object",
      properties: { id: whole, title: text, state: text },
      required: ["id", "title", "state"],
    },
  },
});

test("the specification's example is written as it stands there", () => {
  expect(rtfs.declaration(listIssues)).toBe(`(capability :mcp.github.list_issues
  :version "1.0.0"
  :description "List issues in a GitHub repository"
  :input-schema [:map
    [:owner :string]
    [:repo :string]
    [:state {:optional true} :string]]
  :output-schema [:vector [:map
    [:id :int]
    [:title :string]
    [:state :string]]]
  :provider {:type :mcp
             :server-url "https://api.github.com/mcp"
             :tool-name "list_issues"}
  :domains ["github" "github.issues"]
  :categories ["crud.read"])
`);
});

/** Returns the expected facts of a tool in its file. */
function told(tool: CapabilityManifest): unknown {
  const { inputSchema, outputSchema, ...others } = tool;
  return {
    ...others,
    input: rtfsType(inputSchema),
    ...(outputSchema ? { output: rtfsType(outputSchema) } : {}),
  };
}

test("a printed capability parses back unchanged", () => {
  expect(parseCapability(rtfs.declaration(listIssues))).toEqual(told(listIssues));
});

test("a server that is a program has a command instead of an address", () => {
  const provider = { type: "mcp", command: ["npx", "-y", 'a "b"'], toolName: "t" };
  const tool = manifest({ provider });
  const file = rtfs.declaration(tool);
  expect(file).toContain(`  :provider {:type :mcp
             :command ["npx" "-y" "a \\"b\\""]
             :tool-name "t"}`);
  expect(parseCapability(file).provider).toEqual(provider);
});

test.each([
  ["a quote", 'He said "stop" :evil'],
  ["a backslash before the end", "C:\\"],
  ["an escape that is none", "\\u0041 \\n"],
  ["lines", "a\nb\r\n\tc\u2028d"],
  ["what ends everything", '")) (evil ["'],
  ["a remark", "; not a remark"],
  ["signs that are not seen", "\u202eabc\u0000\u0007\ud800\u{e0041}"],
])("no description gets out of its place: %s", (_what, description) => {
  const tool = manifest({ id: description, description, domains: [description], toolName: description });
  const file = rtfs.declaration(tool);
  expect(parseCapability(file)).toEqual(told(tool));
  expect(file.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}]/u);
  expect(file.split("\n").filter((line) => line.startsWith("  :description"))).toHaveLength(1);
});

test.runIf(realCatalog().length > 0)(
  "real tools are read back as they were",
  () => {
    const tools = realCatalog().map(({ server, name, description = "", inputSchema, outputSchema }) =>
      manifest({
        id: `mcp.${server}.${name}`,
        toolName: name,
        description,
        inputSchema,
        ...(outputSchema ? { outputSchema } : {}),
      }),
    );
    expect(tools.length).toBeGreaterThan(40);
    for (const tool of tools) {
      const { input, output, ...others } = parseCapability(rtfs.declaration(tool));
      const { inputSchema, outputSchema, ...expected } = tool;
      // Types as texts, since comparing large values part by part takes long.
      expect([others, JSON.stringify(input), JSON.stringify(output)]).toEqual([
        expected,
        JSON.stringify(rtfsType(inputSchema)),
        outputSchema && JSON.stringify(rtfsType(outputSchema)),
      ]);
    }
  },
  60_000,
);

test.runIf(realCatalog().length > 0)(
  "real parameters are anything only where they may be, or may be null",
  () => {
    let any = 0;
    let all = 0;
    for (const { inputSchema } of realCatalog()) {
      const type = rtfsType(inputSchema);
      for (const entry of type.kind === "map" ? type.entries : []) {
        all++;
        if (entry.type.kind === "word" && entry.type.word === "any") any++;
      }
    }
    expect(any / all).toBeLessThan(0.05);
  },
  60_000,
);
