import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { JsonObject, Tool } from "../../../core/mod.ts";
import { createExample } from "../../../plugins/lib/schema/example.ts";
import { search } from "../../../plugins/search/mod.ts";
import { validate } from "../../../plugins/validate.ts";
import { openAdapters } from "../../plugins/openapi/_open.ts";

const folder = new URL("../../../../shared/data/openapi/", import.meta.url);
const files = [...listed(folder), ...listed(new URL("odd/", folder))];

/** Documents of real APIs, where that collection lies beside the project; none elsewhere. */
function listed(place: URL): URL[] {
  if (!existsSync(place)) return [];
  return readdirSync(place)
    .filter((name) => name.endsWith(".json") && name !== "PROVENANCE.json")
    .map((name) => new URL(name, place));
}

function getId(file: URL): string {
  return (file.pathname.split("/").at(-1) ?? "").replace(".json", "").replaceAll(/[^a-z0-9-]+/g, "-");
}

/** Examples of the few parameters for which none can be generated. */
const PATTERNS: Readonly<Record<string, string>> = {
  "^sha256:[a-f0-9]{64}$": `sha256:${"0".repeat(64)}`,
  "^[A-Z0-9]{26}$": "A".repeat(26),
  "^ssh-(rsa": "ssh-rsa AAAAB3NzaC1yc2E",
};

/** Arguments for a tool, made up from its schema; nothing where its patterns are beyond making things up. */
async function makeArguments({ inputSchema }: Tool): Promise<JsonObject | undefined> {
  const made = await createExample(inputSchema);
  // An object without members is a proper example, and still no part of a path.
  const filled = Object.entries((made ?? {}) as JsonObject).map(([name, value]) => [
    name,
    name === "object" && JSON.stringify(value) === "{}" ? { R: 100 } : value,
  ]);
  if (made !== undefined) return Object.fromEntries(filled);
  const properties = Object.entries(inputSchema["properties"] as Record<string, JsonObject>).map(
    ([name, schema]) => {
      const known = Object.keys(PATTERNS).find((pattern) => String(schema["pattern"]).startsWith(pattern));
      return [name, known === undefined ? schema : { const: PATTERNS[known] }];
    },
  );
  const helped = await createExample({ ...inputSchema, properties: Object.fromEntries(properties) });
  return helped as JsonObject | undefined;
}

function operationCount(file: URL): number {
  const { paths = {} } = JSON.parse(readFileSync(file, "utf8")) as { paths?: Record<string, object> };
  const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
  return Object.values(paths).flatMap((item) => methods.filter((method) => Object.hasOwn(item, method)))
    .length;
}

test.skipIf(files.length === 0)(
  "every operation of every real document, thousands at once, is listed, found and prepared with generated arguments",
  { timeout: 300_000 },
  async () => {
    const adapters = Object.fromEntries(
      files.map((file) => [
        getId(file),
        { document: fileURLToPath(file), serverVariables: { accountName: "a" } },
      ]),
    );
    const { gateway, reported, dryRun } = await openAdapters(adapters, [validate(), search()]);
    expect(reported.map(({ message }) => message)).toEqual([]);
    for (const file of files) {
      expect(gateway.catalog.tools(getId(file)), getId(file)).toHaveLength(operationCount(file));
    }
    const tools = gateway.catalog.tools();
    expect(tools.length).toBeGreaterThan(4_000);
    expect(new Set(tools.map(({ id }) => id)).size).toBe(tools.length);
    const unshown: string[] = [];
    for (const tool of tools) {
      expect(tool.id).toMatch(/^[a-z0-9-]+:[a-z0-9-]+$/);
      const args = await makeArguments(tool);
      if (args === undefined) {
        unshown.push(tool.id);
        continue;
      }
      const { method, url } = await dryRun(tool.id, args);
      expect(method).toBe(tool.operation?.method);
      expect(url).toMatch(/^(https?:\/\/[^/]+)?\/[^{}]*$/);
    }
    // Patterns that were escaped twice, and the like: only their authors could give an example.
    expect(unshown.length, unshown.join(", ")).toBeLessThan(10);
    // Each is among those of its API that are found by its own name.
    for (const tool of tools.filter((_, index) => index % 7 === 0)) {
      const found = await gateway.services.search?.(tool.name, { server: tool.server, limit: 50 });
      expect(
        found?.hits.map((hit) => hit.tool.id),
        tool.id,
      ).toContain(tool.id);
    }
  },
);
