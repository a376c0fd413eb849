import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { anygptProgram, toolpipeProgram } from "../plugins/cli/mod.ts";
import {
  createHostileFolder,
  type HostileFolder,
  listCommands,
  listenForAnyone,
} from "./support/hostile-folder.ts";

const onDeno = "Deno" in globalThis;

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Commands that serve until they are told to end: when they say that they do, and what ends them. */
const SERVING = /serves |Listening at|the playground is at|serving \d+ tools/;

/** Runs a command as a process in the folder, without a terminal. */
async function run(words: readonly string[], { project, env }: HostileFolder, bin: string): Promise<Ended> {
  const path = onDeno ? `../plugins/cli/${bin}.ts` : `../dist/plugins/cli/${bin}.js`;
  const file = fileURLToPath(new URL(path, import.meta.url));
  if (!existsSync(file)) throw new Error(`${path} is not there: run "npm run build" first.`);
  const child = spawn(process.execPath, [...(onDeno ? ["run", "-A"] : []), file, ...words], {
    cwd: project,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const read = (chunk: Buffer): void => {
    output += String(chunk);
    if (SERVING.test(output)) child.kill("SIGTERM");
  };
  child.stdout.on("data", read);
  child.stderr.on("data", read);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, output };
}

/** Words that a command needs, by its positional arguments and options. */
const values: Readonly<Record<string, string>> = {
  server: "docs",
  tool: "read",
  query: "read documents",
  name: "docs",
  entry: "io.example/docs",
  plugin: "search",
  shell: "bash",
  target: "docs",
};

/** Every command with the words it needs. Those that consent to something by a name are run without it. */
async function listRuns(program: typeof toolpipeProgram): Promise<(readonly string[])[]> {
  const commands = await listCommands(program.commands);
  return commands.flatMap(({ words, command }) => {
    const own = words.at(-1) ?? "";
    const positionals = Object.entries(command.args ?? {}).filter(([, arg]) => arg.type === "positional");
    const needed = positionals
      .filter(([, { required = true }]) => required)
      .map(([name]) => values[name] ?? "docs");
    const optional = positionals
      .filter(([, { required = true }]) => !required)
      .map(([name]) => values[name] ?? "docs");
    const port = own === "start" || own === "playground" ? ["--port", "0"] : [];
    // Those ask a registry, as their user wants them to.
    if (words[0] === "registry") return [];
    const runs = [[...words, ...needed, ...port]];
    if (own === "serve") runs.push([...words, "--http", "0"]);
    if (optional.length > 0 && own !== "approve") runs.push([...words, ...needed, ...optional]);
    return runs;
  });
}

/** Runs all of them, two at a time. */
async function runAll(
  runs: readonly (readonly string[])[],
  folder: HostileFolder,
  bin = "toolpipe",
): Promise<{ readonly words: string; readonly ended: Ended }[]> {
  const left = [...runs];
  const done: { words: string; ended: Ended }[] = [];
  const worker = async (): Promise<void> => {
    for (let words = left.shift(); words !== undefined; words = left.shift())
      done.push({ words: words.join(" "), ended: await run(words, folder, bin) });
  };
  mkdirSync(folder.marks, { recursive: true });
  await Promise.all([worker(), worker()]);
  return done;
}

/** Commands that need no config, so that one that is not approved does not stop them. */
const WITHOUT_CONFIG =
  /^(?:demo|completion|__complete|config reload|config sources|init|token|revoke|eval|audit verify \S|serve$)/;

const approves = (file: string): string => `toolpipe approve --file ${file}`;

test.each([
  ["toolpipe.config.ts", ["toolpipe.config.ts"]],
  ["toolpipe.config.json", ["toolpipe.config.json"]],
  ["the configs of the AnyGPT specification", [".anygpt/mcp-discovery.config.ts", "anygpt.config.ts"]],
] as const)(
  "fault 81: a cloned folder has %s: no command executes it, or sends anything, before it is approved",
  { timeout: 600_000 },
  async (_what, configs) => {
    const trap = await listenForAnyone();
    const folder = await createHostileFolder(trap, configs);
    const runs = await listRuns(toolpipeProgram);
    // Words that only a plugin of the config could know.
    const done = await runAll([...runs, ["deploy-docs"], ["--help"], ["list", "--help"]], folder);
    expect(done.length).toBeGreaterThan(40);
    expect(readdirSync(folder.marks)).toEqual([]);
    const refused = done.filter(({ words }) => !WITHOUT_CONFIG.test(words) && !words.includes("--help"));
    const file = `${folder.project}/${configs[0]}`;
    const wrong = refused.filter(({ ended }) => ended.code !== 2 || !ended.output.includes(approves(file)));
    expect(wrong).toEqual([]);
    expect(refused.length).toBeGreaterThan(25);
    // The configs of the folder are in nobody's place: the user's own servers are not served by a command either.
    expect(refused.filter(({ ended }) => ended.output.includes("mine"))).toEqual([]);
    expect(trap.connections()).toBe(0);

    // The traps do work: the same config, named by its user, is executed.
    await run(["config", "options", "--config", configs[0]], folder, "toolpipe");
    expect(readdirSync(folder.marks)).toContain("plugin");
  },
);

test("fault 81: a cloned folder defines servers for clients: no command starts one, or sends it anything", {
  timeout: 600_000,
}, async () => {
  const trap = await listenForAnyone();
  const folder = await createHostileFolder(trap);
  // `discover` asks a registry, as its user wants it to.
  const runs = (await listRuns(toolpipeProgram)).filter(([name]) => name !== "discover");
  const done = await runAll(runs, folder);
  const names = (await listRuns(anygptProgram)).filter(([, name]) => name === "list" || name === "tools");
  await runAll(names, folder, "anygpt");
  expect(readdirSync(folder.marks)).toEqual([]);
  expect(done.find(({ words }) => words === "list")?.ended.output).toMatch(/docs[\s\S]*approv/);
  expect(done.find(({ words }) => words === "tools")?.ended.output).toContain("mine");
  expect(trap.connections()).toBe(0);
});
