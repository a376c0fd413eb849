import fc from "fast-check";
import { expect, test } from "vitest";
import { createEngine, describeAnygptTools, writeAnygptInstructions } from "../../../presets/anygpt/mod.ts";
import { openCatalog } from "../_anygpt-catalog.ts";

const words = ["read", "write", "delete", "file", "issue", "repo"];
const name = fc
  .tuple(fc.constantFrom(...words), fc.constantFrom(...words), fc.nat({ max: 9 }))
  .map((parts) => parts.join("_"));
const server = fc.constantFrom("github", "disk", "mail");
const tool = fc.record({
  server,
  name,
  description: fc.constantFrom("Reads a file.", "Deletes a repo for good.", ""),
  inputSchema: fc.constant({ type: "object" }),
});
const rule = fc.record(
  {
    pattern: fc.array(fc.constantFrom("*delete*", "/^read/", "*_1", "!*repo*", "*", "write_*"), {
      minLength: 1,
      maxLength: 2,
    }),
    server,
    enabled: fc.boolean(),
  },
  { requiredKeys: ["pattern"] },
);

test("whatever rules, tools and questions there are, a disabled tool is listed only where that is asked for", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(tool, { selector: (one) => `${one.server}:${one.name}`, minLength: 1, maxLength: 25 }),
      fc.array(rule, { maxLength: 4 }),
      fc.oneof(name, fc.constantFrom(...words)),
      fc.oneof(name, fc.constant("delete_fil_1"), fc.nat()),
      async (tools, toolRules, query, wrong) => {
        // Often a name that another server has.
        const guess = typeof wrong === "string" ? wrong : (tools[wrong % tools.length]?.name ?? "");
        const pinned = tools.map((one) => `${one.server}:${one.name}`);
        const gateway = await openCatalog(tools, { rules: { toolRules }, answers: { pinned } });
        const engine = createEngine(gateway);
        const all = gateway.catalog.tools();
        const usable = new Set(all.filter(({ enabled }) => enabled).map(({ id }) => id));
        const answers: string[] = [
          writeAnygptInstructions(gateway),
          JSON.stringify(describeAnygptTools(gateway)),
        ];
        const ask = async (meta: string, args: object): Promise<void> => {
          const call = await gateway.run({ tool: `anygpt:${meta}`, args });
          answers.push(JSON.stringify(call.ok ? call.result : call.error));
        };
        await ask("search_tools", { query });
        await ask("search_tools", { query, limit: 100 });
        for (const id of ["github", "disk", "mail"]) {
          await ask("list_tools", { server: id });
          await ask("search_tools", { query, server: id });
          if (!all.some((one) => one.id === `${id}:${guess}`)) {
            await ask("execute_tool", { server: id, tool: guess, arguments: {} });
            await ask("get_tool_details", { server: id, tool: guess });
          }
        }
        const hits = await engine.searchTools(query, { limit: 100 });
        for (const hit of hits) expect(usable).toContain(`${hit.server}:${hit.tool}`);
        // A name that is enabled elsewhere, or that was asked for, may be there; one that is only disabled may not.
        const names = new Set(all.map((one) => one.name));
        for (const id of usable) names.delete(id.slice(id.indexOf(":") + 1));
        for (const hidden of names) {
          if (hidden === guess) continue;
          const leaking = answers.filter((answer) => new RegExp(`\\b${hidden}\\b`).test(answer));
          expect([hidden, leaking]).toEqual([hidden, []]);
        }
        for (const { id } of all.filter(({ enabled }) => !enabled)) {
          expect([id, answers.filter((answer) => new RegExp(`\\b${id}\\b`).test(answer))]).toEqual([id, []]);
        }
        for (const id of new Set(all.map((one) => one.server))) {
          const listed = await engine.listTools(id, true);
          expect(listed.map(({ enabled, name: own }) => [own, enabled])).toEqual(
            all.filter((one) => one.server === id).map((one) => [one.name, one.enabled]),
          );
        }
        for (const one of all.filter(({ enabled }) => !enabled)) {
          const result = await engine.executeTool(one.server, one.name, {});
          expect(result.error?.code).toBe("TOOL_DISABLED");
        }
        await gateway.close();
      },
    ),
    { numRuns: 60 },
  );
});
