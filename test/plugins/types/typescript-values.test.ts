import fc from "fast-check";
import { expect, test } from "vitest";
import { createExample, typeDeclarations, typescript } from "../../../plugins/types/mod.ts";
import { manifest } from "../../contracts/type-emitter.ts";
import { findFaults } from "../../support/compiler.ts";
import { realCatalog } from "../../support/real-catalog.ts";
import { validValues } from "./_valid-values.ts";

/** A program that is in order if the values are of the type of the schema. */
function program(schema: object, values: readonly unknown[]): string {
  const checks = values.map((value, index) => {
    const text = JSON.stringify(value);
    return `const a${index}: T = ${text};\nconst b${index}: Inline = ${text};\n`;
  });
  return `${typeDeclarations("T", schema)}\nexport type Inline = ${typescript.type(schema)};\n${checks.join("")}`;
}

test("the check for values finds those that are of another type", async () => {
  const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
  const faults = await findFaults([
    program(schema, [{ a: "x" }]),
    program(schema, [{ a: 1 }]),
    program(schema, [{}]),
  ]);
  expect(faults).toHaveLength(4);
}, 60_000);

test("what a schema allows, its type allows", async () => {
  const samples = fc.sample(validValues, 300);
  const values = samples.flatMap((sample) => sample.values);
  expect(values.length).toBeGreaterThan(300);
  expect(await findFaults(samples.map((sample) => program(sample.schema, sample.values)))).toEqual([]);
}, 240_000);

test.runIf(realCatalog().length > 0)(
  "all real tools make one program, and their examples are of their types",
  async () => {
    const modules: string[] = [];
    for (const { name, description = "", inputSchema, outputSchema } of realCatalog()) {
      const tool = manifest({
        toolName: name,
        description,
        inputSchema,
        ...(outputSchema ? { outputSchema } : {}),
      });
      const example = await createExample(inputSchema);
      modules.push(
        typescript.declaration(tool) + (example === undefined ? "" : program(inputSchema, [example])),
      );
    }
    expect(modules.length).toBeGreaterThan(4_000);
    expect(await findFaults(modules)).toEqual([]);
  },
  240_000,
);

test.runIf(realCatalog().length > 0)(
  "real parameters are unknown only where they say nothing",
  () => {
    const telling = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "properties", "items"];
    for (const { server, name, inputSchema } of realCatalog()) {
      const properties = Object.entries((inputSchema["properties"] ?? {}) as Record<string, object>);
      const unknown = properties
        .filter(([, schema]) => telling.some((word) => word in schema && Reflect.get(schema, word) !== "any"))
        .map(([key, schema]) => [key, typescript.type({ ...inputSchema, ...NOTHING, ...schema })])
        .filter(([, type]) => type === "unknown");
      expect([server, name, unknown]).toEqual([server, name, []]);
    }
  },
  240_000,
);

/** Takes away what a whole schema says besides its definitions. */
const NOTHING = Object.fromEntries(
  ["type", "required", "additionalProperties", "anyOf", "oneOf", "allOf", "$ref", "if", "then", "else"].map(
    (word) => [word, undefined],
  ),
);
