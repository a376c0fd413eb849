import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { createCatalog } from "../../core/catalog.ts";
import { type Catalog, createGateway, type Tool, type ToolDefinition } from "../../core/mod.ts";
import { deferred, listed, plugin, quiet } from "../support/hooks.ts";

const silent = { discover(): void {}, changed(): void {} };
const tool = (name: string, description?: string): ToolDefinition => ({ name, description, inputSchema: {} });
const names = (tools: readonly Tool[]): string[] => tools.map(({ name }) => name);

describe("as a store", () => {
  const serverId = fc.constantFrom("a", "b", "c", "__proto__", "constructor");
  const toolNames = fc.array(fc.constantFrom("x", "y", "z", "x:y", "toString", "é"), { maxLength: 6 });
  const change = fc.oneof(
    fc.record({
      kind: fc.constant("replace" as const),
      id: serverId,
      tools: toolNames,
      builtin: fc.boolean(),
    }),
    fc.record({ kind: fc.constant("remove" as const), id: serverId }),
  );

  test("it holds what a plain map would hold after any changes, and its revision counts them", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 20 }), async (changes) => {
        const told: number[] = [];
        const catalog = createCatalog({ ...silent, changed: (revision) => void told.push(revision) });
        const model = new Map<string, { builtin: boolean; tools: string[] }>();
        let revision = 0;
        for (const step of changes) {
          const present = model.get(step.id);
          if (step.kind === "remove") {
            expect(await catalog.remove(step.id)).toBe(model.delete(step.id));
            if (present) revision++;
          } else if (present && present.builtin !== step.builtin) {
            await expect(
              catalog.replace(
                { id: step.id, builtin: step.builtin },
                step.tools.map((name) => tool(name)),
              ),
            ).rejects.toMatchObject({ code: "CONFIG_INVALID" });
          } else {
            const outcome = await catalog.replace(
              { id: step.id, builtin: step.builtin },
              step.tools.map((name) => tool(name)),
            );
            const unique = [...new Set(step.tools)];
            model.set(step.id, { builtin: step.builtin, tools: unique });
            revision++;
            expect(outcome.revision).toBe(revision);
            expect(names(outcome.tools)).toEqual(unique);
            expect(outcome.rejected).toHaveLength(step.tools.length - unique.length);
          }
          compare(catalog, model);
          expect(catalog.revision).toBe(revision);
        }
        expect(told).toEqual(Array.from({ length: revision }, (_, index) => index + 1));
      }),
    );

    function compare(catalog: Catalog, model: Map<string, { builtin: boolean; tools: string[] }>): void {
      const listed = [...model].filter(([, { builtin }]) => !builtin);
      expect(catalog.servers().map(({ id }) => id)).toEqual(listed.map(([id]) => id));
      expect(catalog.tools().map(({ id }) => id)).toEqual(
        listed.flatMap(([id, { tools }]) => tools.map((name) => `${id}:${name}`)),
      );
      for (const id of ["a", "b", "c", "__proto__", "constructor", "none"]) {
        const entry = model.get(id);
        expect(catalog.server(id)?.id).toBe(entry && id);
        expect(names(catalog.tools(id))).toEqual(entry?.tools ?? []);
        for (const name of ["x", "y", "z", "x:y", "toString", "é"]) {
          expect(catalog.tool(`${id}:${name}`)?.name).toBe(entry?.tools.includes(name) ? name : undefined);
        }
      }
    }
  });

  test("built-in servers are callable but not listed", async () => {
    const catalog = createCatalog(silent);
    await catalog.replace({ id: "meta", builtin: true }, [tool("search")]);
    expect(catalog.tool("meta:search")?.id).toBe("meta:search");
    expect(catalog.server("meta")?.id).toBe("meta");
    expect(names(catalog.tools("meta"))).toEqual(["search"]);
    expect(catalog.servers()).toEqual([]);
    expect(catalog.tools()).toEqual([]);
  });

  test("returned objects cannot be used to change it", async () => {
    const catalog = createCatalog(silent);
    const server = { id: "s", title: "S" };
    await catalog.replace(server, [tool("x")]);
    server.title = "changed";
    expect(catalog.server("s")?.title).toBe("S");
    expect(() => (catalog.tools() as Tool[]).push(catalog.tools()[0] as Tool)).toThrow(TypeError);
    expect(() => (catalog.tools("s") as Tool[]).pop()).toThrow(TypeError);
    expect(() => Object.assign(catalog.tool("s:x") as Tool, { name: "y" })).toThrow(TypeError);
    expect(() => Object.assign(catalog.server("s") as object, { builtin: true })).toThrow(TypeError);
    (catalog.servers() as unknown[]).pop();
    expect(catalog.servers()).toHaveLength(1);
  });

  test("a list that was given out stays as it was", async () => {
    const catalog = createCatalog(silent);
    await catalog.replace({ id: "s" }, [tool("x")]);
    const before = catalog.tools();
    await catalog.replace({ id: "s" }, [tool("y")]);
    expect(names(before)).toEqual(["x"]);
    expect(names(catalog.tools())).toEqual(["y"]);
  });

  test("the list is made once for a revision", async () => {
    const catalog = createCatalog(silent);
    await catalog.replace({ id: "s" }, [tool("x")]);
    expect(catalog.tools()).toBe(catalog.tools());
  });
});

describe("incoming tools", () => {
  test("bad tools and second ones of a name are rejected by name, and the others are taken", async () => {
    const catalog = createCatalog(silent);
    const outcome = await catalog.replace({ id: "s" }, [
      tool("good", "first"),
      { name: "no schema" } as ToolDefinition,
      { name: "list schema", inputSchema: [] as unknown as Record<string, unknown> },
      { name: "bad words", inputSchema: {}, description: 5 as unknown as string },
      { name: "", inputSchema: {} },
      { inputSchema: {} } as ToolDefinition,
      { name: 5, inputSchema: {} } as unknown as ToolDefinition,
      null as unknown as ToolDefinition,
      "text" as unknown as ToolDefinition,
      [] as unknown as ToolDefinition,
      tool("good", "second"),
      tool("better"),
    ]);
    expect(outcome.rejected.map(({ name }) => name)).toEqual([
      "no schema",
      "list schema",
      "bad words",
      "",
      "",
      "5",
      "",
      "",
      "",
      "good",
    ]);
    for (const { reason } of outcome.rejected) expect(reason).toMatch(/^its? /);
    expect(names(outcome.tools)).toEqual(["good", "better"]);
    expect(catalog.tool("s:good")?.description).toBe("first");
  });

  test("no name of a tool costs a server its others", async () => {
    const catalog = createCatalog(silent);
    const bad = JSON.parse('{"name":{"toString":1},"inputSchema":{}}');
    const outcome = await catalog.replace({ id: "s" }, [bad, tool("good")]);
    expect(names(outcome.tools)).toEqual(["good"]);
  });

  test("an upstream cannot choose the id, the server or the tags of its tool", async () => {
    const catalog = createCatalog(silent);
    const forged = { ...tool("x"), id: "bank:pay", server: "bank", tags: ["safe"] };
    await catalog.replace({ id: "s" }, [forged]);
    expect(catalog.tool("bank:pay")).toBeUndefined();
    expect(catalog.tool("s:x")).toMatchObject({ id: "s:x", server: "s", tags: [] });
  });

  test("a server id holds a character and no colon", async () => {
    const catalog = createCatalog(silent);
    for (const id of ["", ":", "a:b", "a:"]) {
      await expect(catalog.replace({ id }, [])).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    }
    expect(catalog.revision).toBe(0);
  });

  test("a server cannot take the id of a built-in one, nor the other way round", async () => {
    const catalog = createCatalog(silent);
    await catalog.replace({ id: "meta", builtin: true }, [tool("search")]);
    await expect(catalog.replace({ id: "meta" }, [])).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await catalog.replace({ id: "s" }, [tool("x")]);
    await expect(catalog.replace({ id: "s", builtin: true }, [])).rejects.toMatchObject({
      code: "CONFIG_INVALID",
    });
    expect(catalog.tool("meta:search")).toBeDefined();
    expect(catalog.tool("s:x")).toBeDefined();
  });
});

describe("discovery", () => {
  test("hooks enrich each tool, in order, before anyone can see it", async () => {
    const catalog = createCatalog({
      ...silent,
      async discover(found) {
        await Promise.resolve();
        expect(catalog.tool(found.id)).toBeUndefined();
        found.tags.push(`about ${found.name}`);
      },
    });
    await catalog.replace({ id: "s" }, [tool("x"), tool("y")]);
    expect(catalog.tools().map(({ tags }) => tags)).toEqual([["about x"], ["about y"]]);
  });

  test("no reader sees half of a server's tools, whenever it looks", async () => {
    const lists = fc.array(fc.uniqueArray(fc.constantFrom("p", "q", "r", "s"), { minLength: 1 }), {
      minLength: 1,
    });
    await fc.assert(
      fc.asyncProperty(lists, fc.scheduler(), async (versions, scheduler) => {
        const allowed = new Set(["", ...versions.map((list, version) => stamp(list, version))]);
        const look = (): void => {
          const all = catalog.tools("s");
          expect(allowed).toContain(all.map(({ id, description }) => `${id} ${description}`).join());
          expect(catalog.tools()).toEqual(all);
          for (const { id } of all) expect(catalog.tool(id)).toBe(all.find((other) => other.id === id));
        };
        const catalog = createCatalog({
          async discover(found) {
            look();
            await scheduler.schedule(Promise.resolve(), found.id);
            look();
          },
          changed: look,
        });
        const changes = versions.map((list, version) =>
          catalog.replace(
            { id: "s" },
            list.map((name) => tool(name, `${version}`)),
          ),
        );
        await scheduler.waitFor(Promise.all(changes));
        const last = versions.length - 1;
        expect(
          catalog
            .tools("s")
            .map(({ id, description }) => `${id} ${description}`)
            .join(),
        ).toBe(stamp(versions[last] ?? [], last));
        look();
      }),
    );

    function stamp(list: readonly string[], version: number): string {
      return list.map((name) => `s:${name} ${version}`).join();
    }
  });

  test("of any replaces and removes at once, the later call wins, for each server by itself", async () => {
    const operation = fc.record({ id: fc.constantFrom("a", "b"), remove: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(operation, { maxLength: 8 }),
        fc.scheduler(),
        async (operations, scheduler) => {
          const catalog = createCatalog({
            ...silent,
            discover: (found) => scheduler.schedule(Promise.resolve(), found.id).then(() => {}),
          });
          const revisions: number[] = [];
          const running = operations.map(({ id, remove }, index) =>
            (remove ? catalog.remove(id) : catalog.replace({ id }, [tool("x", `${index}`)])).then(() =>
              revisions.push(catalog.revision),
            ),
          );
          await scheduler.waitFor(Promise.all(running));
          for (const id of ["a", "b"]) {
            const last = operations.findLastIndex((operation) => operation.id === id);
            const expected = last === -1 || operations[last]?.remove ? undefined : `${last}`;
            expect(catalog.tool(`${id}:x`)?.description).toBe(expected);
          }
          expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
        },
      ),
    );
  });

  test("a hook that fails keeps the list out, and the one before stays", async () => {
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("picky", {
          "tool:discover"(found) {
            if (found.name === "bad") throw new Error("secret");
          },
        }),
      ],
    });
    const { revision } = gateway.catalog;
    const error = await gateway.catalog
      .replace({ id: "s" }, [tool("x"), tool("bad")])
      .catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "INTERNAL", data: { plugin: "picky", hook: "tool:discover" } });
    expect(names(gateway.catalog.tools("s"))).toEqual(["t"]);
    expect(gateway.catalog.revision).toBe(revision);
  });

  test("a later replace that fails does not undo an earlier one that succeeds", async () => {
    const slow = deferred();
    const catalog = createCatalog({
      ...silent,
      discover: (found) => (found.name === "slow" ? slow.promise : Promise.reject(new Error("broken"))),
    });
    const earlier = catalog.replace({ id: "s" }, [tool("slow")]);
    await expect(catalog.replace({ id: "s" }, [tool("bad")])).rejects.toThrow("broken");
    slow.resolve();
    await earlier;
    expect(names(catalog.tools("s"))).toEqual(["slow"]);
  });

  test("a server cannot take the id of a built-in one while that is being enriched", async () => {
    const slow = deferred();
    const catalog = createCatalog({
      ...silent,
      discover: (found) => (found.name === "search" ? slow.promise : undefined),
    });
    const meta = catalog.replace({ id: "meta", builtin: true }, [tool("search")]);
    await catalog.replace({ id: "meta" }, [tool("evil")]).catch(() => {});
    slow.resolve();
    await meta;
    expect(names(catalog.tools("meta"))).toEqual(["search"]);
  });
});

describe("an id of the gateway itself", () => {
  test("once a built-in server is there, it stays, in whatever order servers of its id come in", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 6 }), fc.scheduler(), async (kinds, scheduler) => {
        let isThere = false;
        const look = (): void => {
          if (isThere) expect(catalog.server("meta")?.builtin).toBe(true);
        };
        const catalog = createCatalog({
          discover: (found) => scheduler.schedule(Promise.resolve(), found.id).then(look),
          changed: look,
        });
        const running = kinds.map((builtin) =>
          catalog.replace({ id: "meta", builtin }, [tool("x")]).then(
            () => {
              isThere ||= builtin;
            },
            (error: unknown) => expect(error).toMatchObject({ code: "CONFIG_INVALID" }),
          ),
        );
        await scheduler.waitFor(Promise.all(running));
        look();
        expect(isThere).toBe(kinds.includes(true));
      }),
    );
  });
});

describe("the notice of a change", () => {
  test("fires once for each change, with the revision, when the change is visible", async () => {
    const seen: string[] = [];
    const gateway = await createGateway({
      plugins: [
        {
          name: "watch",
          setup: ({ catalog }) => ({
            "catalog:change": (revision) =>
              void seen.push(`${revision} ${catalog.revision} ${names(catalog.tools())}`),
          }),
        },
      ],
    });
    await gateway.catalog.replace({ id: "s" }, [tool("x"), tool("y")]);
    await gateway.catalog.remove("none");
    await gateway.catalog.remove("s");
    expect(seen).toEqual(["1 1 x,y", "2 2 "]);
  });

  test("a listener that fails is reported, and stops neither the change nor the next listener", async () => {
    const report = vi.fn();
    const next = vi.fn();
    const gateway = await createGateway({
      plugins: [
        plugin("broken", { "catalog:change": () => Promise.reject(new Error("secret")), error: report }),
        plugin("next", { "catalog:change": next }),
      ],
    });
    await gateway.catalog.replace({ id: "s" }, [tool("x")]);
    await quiet();
    expect(next).toHaveBeenCalledTimes(1);
    expect(report.mock.calls).toMatchObject([[{ code: "INTERNAL", data: { plugin: "broken" } }]]);
    expect(gateway.catalog.tool("s:x")).toBeDefined();
  });
});
