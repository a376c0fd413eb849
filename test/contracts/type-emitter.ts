import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonObject } from "../../core/mod.ts";
import type { CapabilityManifest, TypeEmitter } from "../../core/services/emitter.ts";
import { endlessSchemas, sampleSchemas } from "../support/any-schema.ts";

/** A tool as it is exported; what a test does not name is as plain as can be. */
export function manifest(
  parts: Partial<CapabilityManifest> & { readonly toolName?: string },
): CapabilityManifest {
  const { toolName = "list_issues", ...others } = parts;
  return {
    id: `mcp.github.${toolName}`,
    version: "1.0.0",
    description: "List issues in a GitHub repository",
    inputSchema: { type: "object" },
    provider: { type: "mcp", serverUrl: "https://api.github.com/mcp", toolName },
    domains: ["github", "github.issues"],
    categories: ["crud.read"],
    ...others,
  };
}

/** Descriptions of an attacker that try to break out of a comment or string. */
const hostileTexts = [
  `"`,
  `\\`,
  `\\"`,
  `*/ export const evil = 1; /*`,
  `" evil "`,
  `'); evil('`,
  `\${evil}\``,
  "]] evil [[",
  "a\nb\r\nc\u2028d\u2029e",
  "\u0000\u001b[31m\u202eabc\u{e0041}",
  "\ud800 alone",
  "@ts-nocheck",
  "; comment",
  "__proto__",
  "constructor",
  "",
  " ",
];

/** Returns the syntax errors of emitted types, one a line; none if all are well-formed. */
export interface EmittedCheck {
  types(texts: readonly string[]): string[] | Promise<string[]>;
  declarations(texts: readonly string[]): string[] | Promise<string[]>;
}

/** The contract of every type emitter. */
export function testTypeEmitter(emitter: TypeEmitter, check: EmittedCheck): void {
  describe(`${emitter.name} as an emitter of types`, () => {
    test("has a name and a file extension", () => {
      expect(emitter.name).toMatch(/^[a-z][a-z0-9-]*$/);
      expect(emitter.extension).toMatch(/^\.[a-z0-9]+$/);
    });

    test("takes any value for a schema, leaves it as it is, and says the same of the same", () => {
      for (const schema of sampleSchemas()) {
        const before = JSON.stringify(schema);
        const type = emitter.type(schema);
        expect(type).not.toBe("");
        expect(emitter.type(structuredClone(schema))).toBe(type);
        expect(JSON.stringify(schema)).toBe(before);
      }
    });

    test("tells one type from another, also within", () => {
      const schemas = ["string", "integer", "boolean"].map((type) => ({ type }));
      const lists = schemas.map((items) => ({ type: "array", items }));
      expect(new Set([...schemas, ...lists].map((schema) => emitter.type(schema))).size).toBe(6);
      const tools = [...schemas, ...lists].map((inner) =>
        emitter.declaration(manifest({ inputSchema: { type: "object", properties: { key: inner } } })),
      );
      expect(new Set(tools).size).toBe(6);
    });

    test("returns a string of bounded length for schemas that multiply or never end", () => {
      for (const schema of endlessSchemas()) {
        expect(emitter.type(schema).length).toBeLessThan(4_000_000);
        const tool = manifest({ inputSchema: schema as CapabilityManifest["inputSchema"] });
        expect(emitter.declaration(tool).length).toBeLessThan(4_000_000);
      }
    }, 60_000);

    test("gives well-formed types for any schema", async () => {
      const types = sampleSchemas().map((schema) => emitter.type(schema));
      expect(await check.types(types)).toEqual([]);
    }, 60_000);

    test("gives well-formed files for any schemas, names and descriptions", async () => {
      const text = fc.oneof(fc.constantFrom(...hostileTexts), fc.string({ unit: "binary" }));
      const words = fc.sample(fc.array(text, { minLength: 6, maxLength: 6 }), sampleSchemas().length);
      const objects = sampleSchemas().map((schema) => (isJsonObject(schema) ? schema : {}));
      const tools = words.map(([id = "", name = "", about = "", domain = "", url = "", key = ""], index) =>
        manifest({
          id,
          description: about,
          inputSchema: {
            ...objects[index],
            description: about,
            properties: { [key]: { description: about, enum: [key] }, inner: objects[index] },
          },
          ...(index % 2 === 0 ? { outputSchema: objects[index] } : {}),
          provider: { type: domain, serverUrl: url, command: [url, about], toolName: name },
          domains: [domain],
          categories: [domain, about],
        }),
      );
      const files = tools.map((tool) => emitter.declaration(tool));
      expect(files).toEqual(tools.map((tool) => emitter.declaration(structuredClone(tool))));
      expect(files.every((file) => file.endsWith("\n"))).toBe(true);
      expect(await check.declarations(files)).toEqual([]);
    }, 60_000);
  });
}
