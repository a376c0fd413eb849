import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type Actor,
  createGateway,
  type Gateway,
  GatewayError,
  type LocalTool,
  localTools,
  type Plugin,
  textResult,
} from "../../core/mod.ts";
import { memorySink } from "../../plugins/audit/mod.ts";
import { fileStore } from "../../plugins/state/mod.ts";
import { anygpt } from "../../presets/anygpt.ts";
import { jsonOf } from "../_helpers/failure.ts";
import { temporaryFolder } from "../_helpers/temporary-folder.ts";

const inputSchema = { type: "object" };
const tools: readonly LocalTool[] = [
  ["create_note", "Writes down a note for the team."],
  ["append_journal", "Adds a line to the journal of the team."],
  ["post_message", "Posts a message to the channel of the team."],
].map(([name = "", description = ""]) => ({
  name,
  description,
  inputSchema,
  run({ how }) {
    if (how === "throws") throw new GatewayError("INTERNAL", "It broke.");
    return { ...textResult("done"), ...(how === "fails" && { isError: true }) };
  },
}));

/** Answers in place of a tool where it is asked to. */
const rehearsal: Plugin = {
  name: "rehearsal",
  order: "pre",
  setup: () => ({
    execute(call, next) {
      if (call.args["how"] !== "rehearsed") return next();
      call.via = "dry run";
      call.result = textResult("would be done");
    },
  }),
};

const ann: Actor = { id: "ann", scopes: [] };
const bob: Actor = { id: "bob", scopes: [] };
const QUERY = "write something down for the team";
/** The one that does not come first by itself. */
const WANTED = "post_message";

async function open(
  folder: string,
  { search = { history: true } as object, plugins = [] as readonly Plugin[] } = {},
): Promise<Gateway> {
  const gateway = await createGateway({
    preset: anygpt,
    plugins: [localTools("team", { id: "team" }, tools), rehearsal, ...plugins],
    options: {
      audit: { sink: memorySink() },
      state: { folder },
      search: { ranker: "keyword", ...search },
    },
  });
  onTestFinished(() => gateway.close());
  return gateway;
}

interface Found {
  readonly tool: string;
  readonly relevance: number;
}

async function searched(gateway: Gateway, actor = ann, query = QUERY): Promise<Found[]> {
  const call = await gateway.run({ tool: "anygpt:search_tools", args: { query }, actor });
  return (jsonOf(call) as { results: Found[] }).results;
}

async function names(gateway: Gateway, actor = ann, query = QUERY): Promise<string[]> {
  return (await searched(gateway, actor, query)).map(({ tool }) => tool);
}

async function executed(gateway: Gateway, actor = ann, how = "well"): Promise<void> {
  const args = { server: "team", tool: WANTED, arguments: { how } };
  await gateway.run({ tool: "anygpt:execute_tool", args, actor });
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a tool that a search led to", () => {
  test("comes first for a like search, also after a restart, and nobody else finds it sooner", async () => {
    const folder = await temporaryFolder();
    const gateway = await open(folder);
    const before = await searched(gateway);
    expect(before.map(({ tool }) => tool)).toContain(WANTED);
    expect(before[0]?.tool).not.toBe(WANTED);
    await executed(gateway);
    const after = await searched(gateway);
    expect(after[0]?.tool).toBe(WANTED);
    expect(after[0]?.relevance).toBeGreaterThan(
      before.find(({ tool }) => tool === WANTED)?.relevance ?? Number.NaN,
    );
    expect((await names(gateway, ann, "Please write something down; for my team!"))[0]).toBe(WANTED);
    expect(await names(gateway, ann, "journal")).toEqual(["append_journal"]);
    expect((await names(gateway, ann, "create_note"))[0]).toBe("create_note");
    expect(await searched(gateway, bob)).toEqual(before);
    await gateway.close();
    const again = await open(folder);
    expect(await searched(again)).toEqual(after);
    expect(await searched(again, bob)).toEqual(before);
    await again.close();
    const without = await open(folder, { search: { history: false } });
    expect(await searched(without)).toEqual(before);
  });

  test("is not found any more once it is switched off", async () => {
    const folder = await temporaryFolder();
    const gateway = await open(folder);
    await searched(gateway);
    await executed(gateway);
    expect((await names(gateway))[0]).toBe(WANTED);
    await gateway.close();
    const rules: Plugin = {
      name: "off",
      setup: () => ({
        "tool:discover"(tool) {
          if (tool.name === WANTED) tool.enabled = false;
        },
      }),
    };
    expect(await names(await open(folder, { plugins: [rules] }))).not.toContain(WANTED);
  });

  test("counts where it is called by its own name, and for the local user where nobody is named", async () => {
    const gateway = await open(await temporaryFolder());
    await gateway.services.search?.(QUERY);
    await gateway.run({ tool: `team:${WANTED}`, args: {} });
    const hits = (await gateway.services.search?.(QUERY))?.hits ?? [];
    expect(hits[0]?.tool.name).toBe(WANTED);
    expect((await names(gateway, ann))[0]).not.toBe(WANTED);
  });

  test("counts in memory where there is no state", async () => {
    const gateway = await createGateway({
      preset: { ...anygpt, plugins: anygpt.plugins.filter(({ name }) => name === "search") },
      plugins: [localTools("team", { id: "team" }, tools)],
      options: { search: { ranker: "keyword", history: {} } },
    });
    onTestFinished(() => gateway.close());
    await searched(gateway);
    await executed(gateway);
    expect((await names(gateway))[0]).toBe(WANTED);
  });
});

describe("nothing is written", () => {
  /** What was remembered once everything is done. */
  async function remembered(gateway: Gateway, folder: string): Promise<number> {
    await gateway.close();
    return (await fileStore(folder).list("history/")).length;
  }

  test.each([[{}], [{ history: false }]])("where the options are %j", async (search) => {
    const folder = await temporaryFolder();
    const gateway = await open(folder, { search });
    const before = await searched(gateway);
    await executed(gateway);
    expect(await searched(gateway)).toEqual(before);
    await gateway.close();
    expect(await readdir(folder)).toEqual([]);
  });

  test.each(["fails", "throws", "rehearsed"])("of an execution that %s", async (how) => {
    const folder = await temporaryFolder();
    const gateway = await open(folder);
    await searched(gateway);
    await executed(gateway, ann, how);
    expect(await remembered(gateway, folder)).toBe(0);
  });

  test("of a search alone", async () => {
    const folder = await temporaryFolder();
    const gateway = await open(folder);
    await searched(gateway);
    await gateway.close();
    expect(await readdir(folder)).toEqual([]);
  });

  test.each<[string, (gateway: Gateway) => Promise<unknown>]>([
    ["without a search", async (gateway) => executed(gateway)],
    [
      "before the search",
      async (gateway) => {
        await executed(gateway);
        await searched(gateway);
      },
    ],
    [
      "after the search of somebody else",
      async (gateway) => {
        await searched(gateway, bob);
        await executed(gateway, ann);
      },
    ],
    [
      "after a search that did not show the tool",
      async (gateway) => {
        expect(await names(gateway, ann, "journal")).toEqual(["append_journal"]);
        await executed(gateway);
      },
    ],
    [
      "long after the search",
      async (gateway) => {
        vi.useFakeTimers({ toFake: ["Date"] });
        await searched(gateway);
        vi.setSystemTime(Date.now() + 11 * 60_000);
        await executed(gateway);
      },
    ],
  ])("of an execution %s", async (_when, steps) => {
    const folder = await temporaryFolder();
    const gateway = await open(folder);
    await steps(gateway);
    expect(await remembered(gateway, folder)).toBe(0);
  });
});

test("where the state cannot be read or written, searches and executions go on, and it is told once", async () => {
  const folder = await temporaryFolder({ file: "" });
  const errors: GatewayError[] = [];
  const listening: Plugin = {
    name: "listening",
    setup: () => ({ error: (error) => void errors.push(error) }),
  };
  const gateway = await open(join(folder, "file"), { plugins: [listening] });
  const before = await searched(gateway);
  expect(before.length).toBeGreaterThan(0);
  for (let times = 0; times < 3; times++) {
    await executed(gateway);
    expect(await searched(gateway)).toEqual(before);
  }
  await gateway.close();
  expect(errors.map(({ code }) => code)).toEqual(["STATE_UNAVAILABLE"]);
});

test("one search counts once for each tool, and the last one that showed it counts", async () => {
  const folder = await temporaryFolder();
  const gateway = await open(folder);
  await searched(gateway, ann, "something about the channel of the team");
  await searched(gateway, ann, "write a line for the team");
  for (let times = 0; times < 3; times++) await executed(gateway);
  await gateway.close();
  const [entry] = await fileStore(folder).list("history/");
  expect(entry?.value["uses"]).toHaveLength(1);
  const again = await open(folder);
  expect((await names(again, ann, "write a line for the team"))[0]).toBe(WANTED);
});
