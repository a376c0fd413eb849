// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected

import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseData } from "../../../core/mod.ts";
import type { Machine, ServerConfig } from "../../../core/services/sources.ts";
import { collectAdded, planSteps } from "../../../plugins/cli/init/changes.ts";
import { findClientFiles } from "../../../plugins/cli/init/client-files.ts";
import { planInit } from "../../../plugins/cli/init/plan.ts";
import { undoRun } from "../../../plugins/cli/init/undo.ts";
import {
  type Change,
  listRuns,
  makeChanges,
  prepareOwnChange,
  readOwnConfig,
} from "../../../plugins/lib/config-file/changes.ts";
import { fillConnection } from "../../../plugins/lib/server-entry/expand.ts";
import { isSelf } from "../../../plugins/lib/server-entry/is-self.ts";
import { getOwnConfigFile } from "../../../plugins/lib/server-entry/machine.ts";
import { clients } from "../../../plugins/sources/clients.ts";
import { collect } from "../../../plugins/sources/collect.ts";
import { inlineSource } from "../../../plugins/sources/custom.ts";
import { catchFailure } from "../../support/failure.ts";
import { jsoncText } from "../../support/jsonc-text.ts";
import { place } from "../../support/place.ts";
import { temporaryFolder, writeFiles } from "../../support/temporary-folder.ts";
import { importers } from "../sources/_importers.ts";
import { createMachine, fixture, mcpServers, platforms } from "../sources/_machine.ts";

const command = { command: "npx", args: ["-y", "toolpipe"] };

/** Runs the steps of `init --yes --no-measure` on a machine. */
async function runInit(machine: Machine, named: readonly string[] = []) {
  const own = await readOwnConfig(getOwnConfigFile(machine));
  const plans = planInit(await findClientFiles(machine, named, clients), own, machine);
  const steps = await planSteps(plans, own, command);
  const change = await prepareOwnChange(own, collectAdded(plans, own));
  const changes = [...(change ? [change] : []), ...steps.flatMap((step) => step.change ?? [])];
  if (changes.length > 0) await makeChanges(changes);
  return { own: own.file, plans, steps, changes };
}

async function undoLast(): Promise<void> {
  const [run] = await listRuns();
  if (run) await undoRun(run, false);
}

/** Every variable has a value that tells its name. */
const everything = new Proxy<Record<string, string>>(
  {},
  {
    get: (_, name) => `value of ${String(name)}`,
    getOwnPropertyDescriptor: (_, name) => ({ value: `value of ${String(name)}`, configurable: true }),
  },
);

function resolveConfig(config: ServerConfig, machine: Machine): unknown {
  const { connection } = fillConnection(config, { ...machine, platform: "linux", env: everything });
  const { name, tools, startTimeoutMs, callTimeoutMs } = config;
  return JSON.parse(JSON.stringify({ name, connection, tools, startTimeoutMs, callTimeoutMs }));
}

describe.each(platforms)("on %s", (platform) => {
  test("every client's servers mean the same in our config, its file starts toolpipe, and can be put back", async () => {
    await place();
    const files: Record<string, string> = {};
    for (const { user, fixture: name } of importers) {
      const first = Array.isArray(user) ? user[0] : user;
      if (first) files[typeof first === "string" ? first : first[platform]] = await fixture(name);
    }
    const machine = await createMachine(files, { platform });
    const root = dirname(machine.home);
    const { own, plans, steps } = await runInit(machine);

    const { mcpServers: entries } = JSON.parse(await readFile(own, "utf8"));
    const moved = await collect([inlineSource([], entries)], machine);
    expect(moved.warnings).toEqual([]);
    const before = plans.flatMap(({ moves }) => moves.map(({ config }) => resolveConfig(config, machine)));
    expect(before.length).toBeGreaterThan(25);
    expect(moved.servers.map((config) => resolveConfig(config, machine))).toEqual(before);

    const after = await findClientFiles(machine, [], clients);
    for (const { plan, change, byHand } of steps) {
      const { client, file } = plan.from;
      const servers = after.find((one) => one.file === file)?.servers ?? [];
      const selves = servers.filter(({ config }) => config && isSelf(config.connection));
      const names = servers.map(({ name }) => name);
      if (byHand) expect([client, selves.length, change]).toEqual([client, 0, undefined]);
      else if (plan.moves.length > 0) {
        expect([client, selves.map(({ name }) => name)]).toEqual([client, ["toolpipe"]]);
        for (const { name } of plan.moves)
          expect([client, names]).not.toEqual([client, expect.arrayContaining([name])]);
      }
      for (const { name } of plan.stays)
        expect([client, names]).toEqual([client, expect.arrayContaining([name])]);
    }
    const hand = steps.filter(({ byHand }) => byHand).map(({ plan }) => plan.from.client);
    expect(hand.toSorted()).toEqual(["codex", "continue", "gemini-cli", "goose", "mistral-vibe"]);

    await undoLast();
    for (const [path, text] of Object.entries(files)) {
      expect(await readFile(join(root, path), "utf8")).toBe(text.replaceAll("<project>", machine.project));
    }
    await expect(stat(own)).rejects.toThrow("ENOENT");
  });

  test("the config of a user is where programs keep their settings", async () => {
    const machine = await createMachine({}, { platform });
    const folder = platform === "win32" ? machine.env["APPDATA"] : join(machine.home, ".config");
    expect(getOwnConfigFile(machine)).toBe(join(String(folder), "toolpipe", "toolpipe.config.json"));
    const env = { ...machine.env, TOOLPIPE_HOME: "/own" };
    expect(getOwnConfigFile({ ...machine, env })).toBe("/own/toolpipe.config.json");
  });
});

describe("variables", () => {
  /** Returns the entry written to the client, and the server that toolpipe gets. */
  async function moveServer(path: string, content: object) {
    await place();
    const machine = await createMachine({ [path]: JSON.stringify(content) });
    const { changes } = await runInit(machine);
    const [own, client] = changes.map(({ edit }) => edit.put) as [
      Record<string, object>,
      Record<string, object>,
    ];
    return { server: own["s"], toolpipe: client["toolpipe"] };
  }

  test.each([
    ["home/.gemini/settings.json", "$TOKEN", "${TOKEN}"],
    ["home/.gemini/settings.json", "$word", "${word:-$word}"],
    ["home/.cursor/mcp.json", "${env:TOKEN}", "${env:TOKEN}"],
    ["home/.claude.json", "${TOKEN:-none}", "${TOKEN:-none}"],
    ["home/.lmstudio/mcp.json", "pa$$word $TOKEN", "pa$$word $TOKEN"],
  ])("of %s: %s becomes %s", async (path, written, ours) => {
    const content = { mcpServers: { s: { command: "node", env: { KEY: written } } } };
    const { server, toolpipe } = await moveServer(path, content);
    expect(server).toEqual({ command: "node", env: { KEY: ours } });
    const isVariable = path !== "home/.lmstudio/mcp.json";
    const name = written.includes("word") ? "word" : "TOKEN";
    expect((toolpipe as { env?: object }).env).toEqual(isVariable ? { [name]: written } : undefined);
  });

  test("of opencode are in braces, and its entries have a form of their own", async () => {
    const mcp = { s: { type: "local", command: ["node", "x.js"], environment: { KEY: "{env:TOKEN}" } } };
    const { server, toolpipe } = await moveServer("home/.config/opencode/opencode.json", { mcp });
    expect(server).toEqual({ command: "node", args: ["x.js"], env: { KEY: "${TOKEN}" } });
    expect(toolpipe).toEqual({
      type: "local",
      command: [
        "npx",
        "-y",
        "toolpipe",
        "serve",
        "--config",
        expect.stringContaining("toolpipe.config.json"),
      ],
      enabled: true,
      environment: { TOKEN: "{env:TOKEN}" },
    });
  });

  test("that every program has are not passed on", async () => {
    const content = { mcpServers: { s: { command: "node", args: ["${HOME}/x.js", "${env:PATH}"] } } };
    expect((await moveServer("home/.cursor/mcp.json", content)).toolpipe).not.toHaveProperty("env");
  });
});

test("servers of single projects stay in Claude Code", async () => {
  await place();
  const text = JSON.stringify({
    mcpServers: { mine: { command: "mine" } },
    projects: { "<project>": { mcpServers: { local: { command: "local" } }, history: ["canary"] } },
  });
  const machine = await createMachine({ "home/.claude.json": text });
  const { plans } = await runInit(machine);
  expect(plans[0]?.moves.map(({ name }) => name)).toEqual(["mine"]);
  const { projects } = JSON.parse(await readFile(join(machine.home, ".claude.json"), "utf8"));
  expect(projects[machine.project].mcpServers).toEqual({ local: { command: "local" } });
});

test("a file that changes while it is read is not written", async () => {
  await place();
  const machine = await createMachine({ "home/.cursor/mcp.json": mcpServers({ one: { command: "one" } }) });
  const own = await readOwnConfig(getOwnConfigFile(machine));
  const plans = planInit(await findClientFiles(machine, [], clients), own, machine);
  await writeFiles(machine.home, { ".cursor/mcp.json": mcpServers({ one: { command: "two" } }) });
  const { message } = await catchFailure(planSteps(plans, own, command));
  expect(message).toMatch(/mcp\.json has changed while it was read\. Run the command again\.$/);
});

test("where one file cannot be written, none is changed, and nothing is left to undo", async () => {
  await place();
  const folder = await temporaryFolder({ "a.json": "before", "in-the-way": "" });
  const change = (file: string, before?: string): Change => ({
    file: join(folder, file),
    before: before === undefined ? undefined : { bytes: Buffer.from(before), mode: 0o644 },
    after: { bytes: Buffer.from("after"), mode: 0o600 },
    edit: { key: "mcpServers", remove: [], put: {} },
  });
  const changes = [change("new.json"), change("a.json", "before"), change("in-the-way/b.json")];
  const { message } = await catchFailure(makeChanges(changes));
  expect(message).toMatch(/in-the-way\/b\.json: cannot be written \(E[A-Z]+\)\.$/);
  expect(await readFile(join(folder, "a.json"), "utf8")).toBe("before");
  await expect(stat(join(folder, "new.json"))).rejects.toThrow("ENOENT");
  expect(await listRuns()).toEqual([]);
});

test("only the owner can read copies, and a damaged one is not restored", async () => {
  const { state } = await place();
  const machine = await createMachine({ "home/.cursor/mcp.json": mcpServers({ one: { command: "one" } }) });
  await runInit(machine);
  const folder = join(state, "state", "init", "1");
  if (process.platform !== "win32") {
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    for (const name of ["1", "journal.json"])
      expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  }
  await writeFiles(folder, { "1": "{}" });
  expect((await catchFailure(undoLast())).message).toMatch(/^The copy of .* is damaged\.$/);
});

test("whatever a file looks like, init keeps its other keys, and undo brings back every byte", async () => {
  await place();
  const name = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => text !== "__proto__");
  const server = fc.oneof(
    fc.record({
      command: fc.constantFrom("node", "npx", "./relative"),
      args: fc.array(fc.string(), { maxLength: 2 }),
    }),
    fc.record({
      url: fc.constantFrom("https://a.example/mcp", "https://b.example/mcp"),
      disabled: fc.boolean(),
    }),
    fc.constantFrom({ command: "npx", args: ["-y", "toolpipe"] }, { nonsense: true }),
  );
  const writing = fc.record({
    choices: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 40 }),
    eol: fc.constantFrom("\n" as const, "\r\n" as const),
    trailingCommas: fc.boolean(),
    comments: fc.boolean(),
    mark: fc.boolean(),
  });
  const servers = fc.dictionary(name, server, { maxKeys: 4, noNullPrototype: true });
  const others = fc.dictionary(name, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3, noNullPrototype: true });
  const machine = await createMachine();
  const file = join(machine.home, ".cursor", "mcp.json");
  await fc.assert(
    fc.asyncProperty(servers, others, writing, async (map, rest, how) => {
      const data = JSON.parse(JSON.stringify({ ...rest, mcpServers: map }));
      const { text } = jsoncText(data, "mcpServers", how);
      await writeFiles(machine.home, { ".cursor/mcp.json": text });
      const { changes, plans, own } = await runInit(machine);
      const { mcpServers: now, ...kept } = (await parseData(await readFile(file, "utf8"), file)) as Record<
        string,
        object
      >;
      const { mcpServers: _, ...before } = data;
      expect(kept).toEqual(before);
      for (const { name: stays } of plans[0]?.stays ?? [])
        expect(now).toMatchObject({ [stays]: data.mcpServers[stays] });
      expect((await runInit(machine)).changes).toEqual([]);
      await undoLast();
      expect(await readFile(file, "utf8")).toBe(text);
      if (changes.length > 0) await expect(stat(own)).rejects.toThrow("ENOENT");
    }),
    { numRuns: 40 },
  );
});
