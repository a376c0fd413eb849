import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createGateway, type Gateway, type Plugin, type ToolDefinition } from "../../../core/mod.ts";
import { approvals } from "../../../plugins/approvals/mod.ts";
import {
  type ApprovalParts,
  capabilities,
  promote,
  requestApproval,
} from "../../../plugins/discovery/capability-files/mod.ts";
import { rules } from "../../../plugins/rules/mod.ts";
import { search } from "../../../plugins/search/mod.ts";
import { type StateStore, state } from "../../../plugins/state/mod.ts";
import { jsonSchema } from "../../../plugins/types/mod.ts";
import type { Servers } from "../../../plugins/upstreams/mod.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { introspected, parts, plainTool } from "./_parts.ts";

const CONFIG = "/own/toolpipe.config.json";

/** Stands for the servers, whose definitions are in this file, and answers every call. */
function servers(file: string): Plugin {
  return {
    name: "upstreams",
    provides: ["servers"],
    setup(gateway) {
      const config = { origin: { source: "inline", file, scope: "config" } };
      gateway.provide("servers", { status: () => ({ config }) } as unknown as Servers);
      return {
        execute(call) {
          call.result = { content: [{ type: "text", text: "done" }] };
        },
      };
    },
  };
}

async function within(
  store: StateStore,
  use: (gateway: Gateway) => Promise<void>,
  file: string = CONFIG,
): Promise<void> {
  const gateway = await createGateway({
    plugins: [state({ store }), approvals(), rules(), capabilities(), search(), servers(file)],
  });
  try {
    await use(gateway);
  } finally {
    await gateway.close();
  }
}

async function ask(own: ApprovalParts, tools: readonly ToolDefinition[]): Promise<void> {
  const folder = join(await temporaryFolder(), "pending");
  await requestApproval(own, introspected(tools), { folder, emitter: jsonSchema });
}

async function approve(own: ApprovalParts, tool?: string): Promise<void> {
  await promote(own, { server: "github", tool, config: CONFIG, register: async () => {} });
}

async function callable(gateway: Gateway, tool: string): Promise<boolean> {
  return (await gateway.run({ tool: `github:${tool}` })).ok;
}

describe("a server that was introspected", () => {
  test("has only the tools that were approved, and only as they were", async () => {
    const names = ["alpha", "beta", "gamma", "delta"];
    await fc.assert(
      fc.asyncProperty(
        fc.subarray(names, { minLength: 1 }),
        fc.subarray(names),
        async (approved, changed) => {
          const own = parts();
          await ask(
            own,
            names.map((name) => plainTool(name)),
          );
          for (const name of approved) await approve(own, name);
          await within(own.store, async (gateway) => {
            const now = names.map((name) =>
              changed.includes(name) ? plainTool(name, "Something else") : plainTool(name),
            );
            await gateway.catalog.replace({ id: "github" }, now);
            for (const name of names) {
              const isAllowed = approved.includes(name) && !changed.includes(name);
              expect(await callable(gateway, name), name).toBe(isAllowed);
              const found = await gateway.services.search?.(name);
              expect(
                found?.hits.some((hit) => hit.tool.name === name),
                name,
              ).toBe(isAllowed);
            }
          });
        },
      ),
      { numRuns: 20 },
    );
  });

  test("names the fix for a tool that changed, or that is new", async () => {
    const own = parts();
    await ask(own, [plainTool("a")]);
    await approve(own);
    await within(own.store, async (gateway) => {
      await gateway.catalog.replace({ id: "github" }, [plainTool("a", "Another"), plainTool("b")]);
      const todo =
        "Look at it with: toolpipe introspect github, and approve it with: toolpipe approve github:";
      expect(gateway.catalog.tool("github:a")?.disabledBecause).toBe(
        `Its definition has changed since it was approved. ${todo}a`,
      );
      expect(gateway.catalog.tool("github:b")?.disabledBecause).toBe(
        `It has not been approved yet. ${todo}b`,
      );
    });
  });

  test("has a tool again as soon as it is approved as it is now", async () => {
    const own = parts();
    await ask(own, [plainTool("a")]);
    await approve(own);
    await within(own.store, async (gateway) => {
      await gateway.catalog.replace({ id: "github" }, [plainTool("a", "Another")]);
      expect(await callable(gateway, "a")).toBe(false);
      await ask(own, [plainTool("a", "Another")]);
      expect(await callable(gateway, "a")).toBe(false);
      await approve(own);
      expect(await callable(gateway, "a")).toBe(true);
    });
  });

  test("has none once its approval is revoked", async () => {
    const own = parts();
    await ask(own, [plainTool("a")]);
    await approve(own);
    await own.approvals.revoke("capabilities", "github");
    await within(own.store, async (gateway) => {
      await gateway.catalog.replace({ id: "github" }, [plainTool("a")]);
      expect(await callable(gateway, "a")).toBe(false);
    });
  });

  test("does not affect a server of the same name in another file", async () => {
    const own = parts();
    await ask(own, [plainTool("a")]);
    await approve(own);
    const other = async (gateway: Gateway): Promise<void> => {
      await gateway.catalog.replace({ id: "github" }, [plainTool("b")]);
      expect(await callable(gateway, "b")).toBe(true);
    };
    await within(own.store, other, "/another/config.json");
  });

  test("whose approval cannot be read has no tools, and others have theirs", async () => {
    const own = parts();
    await ask(own, [plainTool("a")]);
    await approve(own);
    const broken: StateStore = {
      ...own.store,
      get: async (key) => {
        if (key.startsWith("approvals/")) throw new Error("The disk is gone.");
        return own.store.get(key);
      },
    };
    await within(broken, async (gateway) => {
      await gateway.catalog.replace({ id: "github" }, [plainTool("a")]);
      await gateway.catalog.replace({ id: "other" }, [plainTool("a")]);
      expect(await callable(gateway, "a")).toBe(false);
      expect((await gateway.run({ tool: "other:a" })).ok).toBe(true);
    });
  });
});
