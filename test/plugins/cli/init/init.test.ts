// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, mkdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { describe, expect, test } from "vitest";
import { getLaunch } from "../../../../plugins/cli/init/client-forms.ts";
import { dead, faulty, marking, type Place, place, real, write } from "../../../support/place.ts";
import { runCli, runMain } from "../../../support/run-cli.ts";
import { toolpipeCommand } from "../../../support/start-serve.ts";

const onWindows = process.platform === "win32";
const read = (file: string): Promise<string> => readFile(file, "utf8");

/** Returns the path of the config to which the servers are moved. */
const getConfigPath = ({ state }: Place): string => join(state, "toolpipe.config.json");
const getCursorPath = ({ home }: Place): string => join(home, ".cursor/mcp.json");

async function json(file: string) {
  return JSON.parse(await read(file));
}

/** A file of Cursor as a person keeps it, with a secret in it. */
function cursorFile(server: object = faulty()): string {
  const [one, two] = [server, { ...server, env: { API_TOKEN: "canary-9f8e7d6c" } }].map((entry) =>
    JSON.stringify(entry),
  );
  return `{
  // mine
  "mcpServers": {
    "one": ${one}, // the first
    "two": ${two},
    /* kept */
    "off": { "command": "x", "disabled": true },
  },
  "theme":   "dark"
}
`;
}

async function cursorPlace(server?: object): Promise<Place & { before: string }> {
  const before = cursorFile(server);
  return { ...(await place({ home: { ".cursor/mcp.json": before } })), before };
}

describe("init", () => {
  test("shows what would move and the tokens saved, and changes nothing", async () => {
    const here = await cursorPlace(real.time);
    const { code, stdout, stderr } = await runMain(["init", "--dry-run", "--yes"]);
    expect(stdout).toMatch(/^cursor \(.*mcp\.json\)\n {2}→ move {2}one {4,}\d tools +[\d,]+ tokens\n/);
    expect(stdout).toMatch(/ {2}About [\d,]+ tokens for an agent if all were loaded, \d+ through toolpipe/);
    expect(stdout).toContain("  - stay  off  It is switched off.");
    expect(stdout).toContain("Nothing was changed. To write the changes: toolpipe init --yes\n");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    // Without a terminal the user cannot confirm.
    expect((await runMain(["init", "--no-measure"])).stdout).toContain("Nothing was changed.");
    expect(await read(getCursorPath(here))).toBe(here.before);
    await expect(stat(getConfigPath(here))).rejects.toThrow("ENOENT");
  }, 60_000);

  test("moves servers, can be run again, and puts back every byte", async () => {
    const here = await cursorPlace();
    await chmod(getCursorPath(here), 0o640);
    const first = await runMain(["init", "--yes"]);
    expect(first.stdout).toMatch(/✓ Done\. The servers are in .*\. Restart your clients\.\n/);
    const changed = await read(getCursorPath(here));
    expect(changed).toMatch(/^\{\n {2}\/\/ mine\n {2}"mcpServers": \{\n {4}"toolpipe": \{\n/);
    expect(changed).toMatch(
      / {4}\/\/ the first\n {4}\/\* kept \*\/\n {4}"off": \{ "command": "x", "disabled": true \},\n {2}\},\n {2}"theme": {3}"dark"\n\}\n$/,
    );
    expect(Object.keys((await json(getConfigPath(here))).mcpServers)).toEqual(["one", "two"]);
    if (!onWindows) {
      expect((await stat(getConfigPath(here))).mode & 0o777).toBe(0o600);
      expect((await stat(getCursorPath(here))).mode & 0o777).toBe(0o640);
    }
    const second = await runMain(["init", "--yes"]);
    expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/\n\nNothing to move\.\n$/) });
    expect(await read(getCursorPath(here))).toBe(changed);
    const undo = await runMain(["init", "--undo"]);
    expect(undo).toEqual({
      code: 0,
      stdout: `✓ ${getCursorPath(here)} is restored\n✓ ${getConfigPath(here)} is removed\n`,
      stderr: "",
    });
    expect(await read(getCursorPath(here))).toBe(here.before);
    await expect(stat(getConfigPath(here))).rejects.toThrow("ENOENT");
    expect((await runMain(["init", "--undo"])).stdout).toBe("There is nothing to undo.\n");
  });

  test("prints no value of any definition", async () => {
    await cursorPlace();
    const runs = [
      await runMain(["init"]),
      await runMain(["init", "--json"]),
      await runMain(["init", "--yes", "--json"]),
      await runMain(["init"]),
      await runMain(["init", "--undo", "--json"]),
    ];
    for (const { stdout, stderr } of runs) expect(stdout + stderr).not.toContain("canary");
    expect(runs.map(({ stdout }) => (stdout.startsWith("{") ? JSON.parse(stdout).outcome : "text"))).toEqual([
      "text",
      "shown",
      "written",
      "text",
      undefined,
    ]);
  });

  test("the written entry starts toolpipe with the moved servers, with no more than their variables", async () => {
    const server = { ...faulty(), env: { WORD: "${env:INIT_WORD}" } };
    const here = await place({ home: { ".cursor/mcp.json": { mcpServers: { words: server } } } });
    process.env["INIT_WORD"] = "from the client";
    expect((await runCli(["init", "--yes"], { cwd: here.project })).code).toBe(0);
    const { toolpipe: entry } = (await json(getCursorPath(here))).mcpServers;
    expect(entry.env).toEqual({ INIT_WORD: "${env:INIT_WORD}" });
    const transport = new StdioClientTransport({
      ...entry,
      env: { INIT_WORD: "from the client", TOOLPIPE_HOME: here.state },
      cwd: here.project,
    });
    const client = new Client({ name: "cursor", version: "1" });
    await client.connect(transport);
    expect((await client.listTools()).tools).toHaveLength(5);
    const call = { server: "words", tool: "environment", arguments: {} };
    const result = await client.callTool({ name: "execute_tool", arguments: call });
    expect(JSON.stringify(result.content)).toContain("from the client");
    await client.close();
  }, 60_000);

  test("leaves where it is what does not answer, what only its client can start, and what has its name taken", async () => {
    const here = await place({
      home: {
        ".cursor/mcp.json": {
          mcpServers: {
            fine: faulty(),
            gone: dead,
            variable: { command: "node", args: ["${env:INIT_NOT_SET}"] },
            folder: { command: "node", args: ["${workspaceFolder}/server.js"] },
            relative: { command: "./server.sh" },
            broken: {},
            twin: faulty(),
          },
        },
        ".codeium/windsurf/mcp_config.json": { mcpServers: { fine: faulty(), twin: faulty("onebadtool") } },
        ".config/Code/User/mcp.json": {
          inputs: [{ id: "key", type: "promptString" }],
          servers: { asks: { command: "node", env: { KEY: "${input:key}" } } },
        },
      },
    });
    const report = JSON.parse((await runMain(["init", "--json", "--yes"])).stdout);
    const reasons = Object.fromEntries(
      report.clients.flatMap(
        ({ client, stays }: { client: string; stays: { name: string; reason: string }[] }) =>
          stays.map(({ name, reason }) => [`${client} ${name}`, reason]),
      ),
    );
    expect(reasons).toEqual({
      "cursor gone": expect.stringContaining("It does not work from here: The command"),
      "cursor variable": "It needs INIT_NOT_SET, which is not set here.",
      "cursor folder": "It uses ${workspaceFolder}, which only its client knows.",
      "cursor relative": "It has a path relative to the folder in which its client starts it.",
      "cursor broken": "Its entry cannot be used: it names neither a command nor a URL.",
      "windsurf twin": `Another server of this name is, or will be, in ${getConfigPath(here)}.`,
      "vscode asks": "It uses ${input:key}, which only its client asks for.",
    });
    expect(report.added).toEqual(["fine", "twin"]);
    const left = (await json(getCursorPath(here))).mcpServers;
    expect(Object.keys(left)).toEqual(["toolpipe", "gone", "variable", "folder", "relative", "broken"]);
    expect(
      Object.keys((await json(join(here.home, ".codeium/windsurf/mcp_config.json"))).mcpServers),
    ).toEqual(["toolpipe", "twin"]);
  });

  test("starts no server with --no-measure, and moves it all the same", async () => {
    const here = await place();
    const { definition, marks } = await marking(here.project);
    await write(here.home, { ".cursor/mcp.json": { mcpServers: { one: definition, gone: dead } } });
    const { stdout } = await runMain(["init", "--no-measure", "--yes"]);
    expect(stdout).not.toContain("tokens");
    expect(Object.keys((await json(getConfigPath(here))).mcpServers)).toEqual(["one", "gone"]);
    expect(await read(marks)).toBe("");
  });

  test("touches a project's file only where it is named, and only the clients that are meant", async () => {
    const entry = { mcpServers: { one: faulty() } };
    const here = await place({
      home: { ".cursor/mcp.json": entry, ".codeium/windsurf/mcp_config.json": entry },
      project: { ".mcp.json": { mcpServers: { team: faulty() } }, ".cursor/mcp.json": entry },
    });
    const clients = async (...args: string[]): Promise<string[]> => {
      const { stdout } = await runMain(["init", "--no-measure", "--json", ...args]);
      return JSON.parse(stdout).clients.map(({ file }: { file: string }) => file);
    };
    const windsurf = join(here.home, ".codeium/windsurf/mcp_config.json");
    expect(await clients()).toEqual([getCursorPath(here), windsurf]);
    expect(await clients("--client", "windsurf")).toEqual([windsurf]);
    expect(await clients("--client", "cursor, windsurf")).toEqual([getCursorPath(here), windsurf]);
    expect(await clients("--client", ".mcp.json")).toEqual([join(here.project, ".mcp.json")]);
    expect(await clients("--client", "kiro")).toEqual([]);
    for (const [given, message] of [
      ["cursr", 'There is no client "cursr"; did you mean "cursor"? See --help.'],
      [
        "./nowhere.json",
        "The file ./nowhere.json does not exist, or no client has its servers there. See --help.",
      ],
    ] as const) {
      expect(await runMain(["init", "--client", given])).toEqual({
        code: 1,
        stdout: "",
        stderr: `${message}\n`,
      });
    }
  });

  test("starts nothing that a project defines, although its file is named", async () => {
    const here = await place();
    const { definition, marks } = await marking(here.home);
    await write(here.project, { ".mcp.json": { mcpServers: { team: definition } } });
    const { stdout } = await runMain(["init", "--client", ".mcp.json", "--yes"]);
    expect(stdout).toContain("→ move  team\n");
    expect(Object.keys((await json(getConfigPath(here))).mcpServers)).toEqual(["team"]);
    expect(await read(marks)).toBe("");
  });

  test("prints what to paste into a file that is not JSON, and writes nothing there", async () => {
    const toml = `# mine\nmodel = "x"\n\n[mcp_servers.one]\ncommand = "node"\nargs = ${JSON.stringify(faulty()["args"])}\nenv_vars = ["INIT_WORD"]\n`;
    const here = await place({ home: { ".codex/config.toml": toml } });
    process.env["INIT_WORD"] = "x";
    const { stdout } = await runMain(["init", "--yes"]);
    expect(stdout).toContain(
      "It is not JSON, and rewriting it would lose its comments and layout. In it, remove one and add:\n",
    );
    expect(stdout).toMatch(
      /\n {4}\[mcp_servers\.toolpipe\]\n {4}command = ".*"\n {4}args = \[.*\]\n {4}env_vars = \["INIT_WORD"\]\n/,
    );
    expect(await read(join(here.home, ".codex/config.toml"))).toBe(toml);
    expect((await json(getConfigPath(here))).mcpServers.one.envNames).toEqual(["INIT_WORD"]);
    const pasted = stdout
      .split("\n")
      .filter((line) => line.startsWith("    "))
      .map((line) => line.slice(4));
    await writeFile(join(here.home, ".codex/config.toml"), `${toml.split("\n[")[0]}\n${pasted.join("\n")}\n`);
    expect((await runMain(["init", "--yes"])).stdout).toMatch(/^Nothing to do: /);
  });

  test("adds to a config that is there, and leaves the rest of it as it is", async () => {
    const here = await cursorPlace();
    const config = `{\n  // my own\n  "mcpServers": { "own": { "url": "https://own.example" } },\n  "toolRules": [ ],\n}\n`;
    await write(here.state, { "toolpipe.config.json": config });
    await runMain(["init", "--yes", "--no-measure"]);
    const merged = await read(getConfigPath(here));
    expect(merged).toMatch(
      /^\{\n {2}\/\/ my own\n {2}"mcpServers": \{ "one": .*, "own": \{ "url": "https:\/\/own\.example" \} \},\n {2}"toolRules": \[ \],\n\}\n$/,
    );
    await runMain(["init", "--undo"]);
    expect(await read(getConfigPath(here))).toBe(config);
    expect(await read(getCursorPath(here))).toBe(here.before);
  });

  test("a config that is not JSON, or is broken, is refused before anything is touched", async () => {
    const here = await cursorPlace();
    await write(here.project, { "mine.ts": "export default {};", "bad.json": "{ oops }" });
    const code = await runMain(["init", "--yes", "--no-measure", "--config", "mine.ts"]);
    expect(code).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("adds servers to JSON files only"),
    });
    const bad = await runMain(["init", "--yes", "--no-measure", "--config", "bad.json"]);
    expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining("bad.json:1:3") });
    expect(await read(getCursorPath(here))).toBe(here.before);
  });

  test("leads an entry that starts toolpipe without a config to the servers, and leaves one with another config alone", async () => {
    const bare = { command: "npx", args: ["-y", "toolpipe"], env: { LANG: "C" } };
    const other = { command: "toolpipe", args: ["serve", "--config", "/etc/team.json"] };
    const here = await place({
      home: {
        ".cursor/mcp.json": { mcpServers: { gateway: bare, one: faulty() } },
        ".codeium/windsurf/mcp_config.json": { mcpServers: { toolpipe: bare } },
        ".kiro/settings/mcp.json": { mcpServers: { toolpipe: other, one: faulty() } },
      },
    });
    const { stdout } = await runMain(["init", "--yes", "--no-measure"]);
    expect(stdout).toContain("its entry for toolpipe is brought up to date");
    expect(stdout).toContain("The client already starts toolpipe with /etc/team.json.");
    const cursor = (await json(getCursorPath(here))).mcpServers;
    expect(Object.keys(cursor)).toEqual(["gateway"]);
    expect(cursor.gateway.args.slice(-3)).toEqual(["serve", "--config", getConfigPath(here)]);
    expect(cursor.gateway.env).toEqual({ LANG: "C" });
    const windsurf = (await json(join(here.home, ".codeium/windsurf/mcp_config.json"))).mcpServers;
    expect(windsurf.toolpipe.args.slice(-3)).toEqual(["serve", "--config", getConfigPath(here)]);
    expect(Object.keys((await json(join(here.home, ".kiro/settings/mcp.json"))).mcpServers)).toEqual([
      "toolpipe",
      "one",
    ]);
    expect((await runMain(["init", "--yes", "--no-measure"])).stdout).toContain("\n\nNothing to move.\n");
  });

  test.skipIf(onWindows)("writes into the file that a link leads to, and leaves the link", async () => {
    const here = await cursorPlace();
    const kept = join(here.home, "dotfiles/cursor.json");
    await mkdir(join(here.home, "dotfiles"));
    await rename(getCursorPath(here), kept);
    await symlink(kept, getCursorPath(here));
    await runMain(["init", "--yes", "--no-measure"]);
    expect((await lstat(getCursorPath(here))).isSymbolicLink()).toBe(true);
    expect(await read(kept)).toContain('"toolpipe"');
    await runMain(["init", "--undo"]);
    expect((await lstat(getCursorPath(here))).isSymbolicLink()).toBe(true);
    expect(await read(kept)).toBe(here.before);
  });

  test("a file that is not written in UTF-8 is left to its owner", async () => {
    const here = await place({ home: { ".cursor/mcp.json": "" } });
    const bytes = Buffer.concat([
      Buffer.from('{"mcpServers":{"one":{"command":"x"}},"n":"'),
      Buffer.from([0xe9]),
      Buffer.from('"}'),
    ]);
    await writeFile(getCursorPath(here), bytes);
    const { stdout } = await runMain(["init", "--yes", "--no-measure"]);
    expect(stdout).toContain("it is not written in UTF-8. In it, remove one and add:\n");
    expect((await readFile(getCursorPath(here))).equals(bytes)).toBe(true);
  });
});

describe("init --undo", () => {
  test("refuses a file that was changed since, and changes nothing then", async () => {
    const here = await cursorPlace();
    await runMain(["init", "--yes", "--no-measure"]);
    const edited = (await read(getCursorPath(here))).replace('"dark"', '"light"');
    await writeFile(getCursorPath(here), edited);
    const config = await read(getConfigPath(here));
    const { code, stderr, stdout } = await runMain(["init", "--undo"]);
    expect(stderr).toMatch(/mcp\.json was changed after toolpipe had changed it, .* --undo --force" undoes/);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(await read(getCursorPath(here))).toBe(edited);
    expect(await read(getConfigPath(here))).toBe(config);
  });

  test("with --force takes back its own changes, and keeps those of others", async () => {
    const here = await cursorPlace();
    await runMain(["init", "--yes", "--no-measure"]);
    await writeFile(getCursorPath(here), (await read(getCursorPath(here))).replace('"dark"', '"light"'));
    const config = await json(getConfigPath(here));
    await writeFile(
      getConfigPath(here),
      JSON.stringify({ mcpServers: { ...config.mcpServers, later: dead } }),
    );
    expect(await runMain(["init", "--undo", "--force"])).toMatchObject({ code: 0 });
    const { parseData } = await import("../../../../core/mod.ts");
    const now = (await parseData(await read(getCursorPath(here)), "x.json")) as Record<string, object>;
    const before = (await parseData(here.before, "x.json")) as Record<string, object>;
    expect(now).toEqual({ ...before, theme: "light" });
    expect(await read(getCursorPath(here))).toContain("// mine");
    expect(await json(getConfigPath(here))).toEqual({ mcpServers: { later: dead } });
  });

  test("with --force brings back a file that is gone or cannot be understood any more", async () => {
    const here = await cursorPlace();
    await runMain(["init", "--yes", "--no-measure"]);
    await writeFile(getCursorPath(here), "{ half a fi");
    expect(await runMain(["init", "--undo"])).toMatchObject({ code: 2 });
    expect(await runMain(["init", "--undo", "--force"])).toMatchObject({ code: 0 });
    expect(await read(getCursorPath(here))).toBe(here.before);
    await runMain(["init", "--yes", "--no-measure"]);
    await rm(getCursorPath(here));
    expect(await runMain(["init", "--undo", "--force"])).toMatchObject({ code: 0 });
    expect(await read(getCursorPath(here))).toBe(here.before);
  });

  test("takes back several runs, the last one first", async () => {
    const windsurf = JSON.stringify({ mcpServers: { two: faulty("onebadtool") } });
    const here = await place({
      home: { ".cursor/mcp.json": cursorFile(), ".codeium/windsurf/mcp_config.json": windsurf },
    });
    await runMain(["init", "--yes", "--no-measure", "--client", "windsurf"]);
    await runMain(["init", "--yes", "--no-measure", "--client", "cursor"]);
    expect(Object.keys((await json(getConfigPath(here))).mcpServers).toSorted()).toEqual(["one", "two"]);
    expect(await runMain(["init", "--undo"])).toMatchObject({ code: 0 });
    expect(await read(getCursorPath(here))).toBe(cursorFile());
    expect(await read(join(here.home, ".codeium/windsurf/mcp_config.json"))).toBe(windsurf);
    await expect(stat(getConfigPath(here))).rejects.toThrow("ENOENT");
  });

  test("is not mixed with what it has no use for", async () => {
    await place();
    for (const args of [["--undo", "--client", "cursor"], ["--force"], ["--client="], ["--config="]]) {
      expect(await runMain(["init", ...args])).toMatchObject({ code: 1, stdout: "" });
    }
  });
});

test("however it is killed, no server is lost and everything can be put back", async () => {
  const here = await cursorPlace();
  const [command, ...own] = toolpipeCommand;
  let written = 0;
  // From before it has read anything to after it is done, on a fast machine and on a slow one.
  for (let delay = 150; written < 2 && delay < 20_000; delay = Math.ceil(delay * 1.3)) {
    const child = spawn(command, [...own, "init", "--yes", "--no-measure"], { stdio: "ignore" });
    const exit = once(child, "exit");
    const timer = setTimeout(() => child.kill("SIGKILL"), delay);
    await exit;
    clearTimeout(timer);
    const now = await read(getCursorPath(here));
    const config = await read(getConfigPath(here)).catch(() => undefined);
    if (now !== here.before) {
      written++;
      expect(now).toContain('"toolpipe"');
      expect(Object.keys(JSON.parse(config ?? "{}").mcpServers)).toEqual(["one", "two"]);
    } else if (config !== undefined) {
      expect(Object.keys(JSON.parse(config).mcpServers)).toEqual(["one", "two"]);
    }
    expect(await runMain(["init", "--undo"])).toMatchObject({ code: 0, stderr: "" });
    expect(await read(getCursorPath(here))).toBe(here.before);
    await expect(stat(getConfigPath(here))).rejects.toThrow("ENOENT");
  }
  expect(written).toBeGreaterThan(0);
}, 60_000);

test("a client starts the package by its name where it is installed, and by its file in a clone", () => {
  const installed = "/home/me/.npm/_npx/1/node_modules/toolpipe/dist/plugins/cli/toolpipe.js";
  expect(getLaunch("linux", installed)).toEqual({ command: "npx", args: ["-y", "toolpipe"] });
  expect(getLaunch("win32", installed)).toEqual({ command: "cmd", args: ["/c", "npx", "-y", "toolpipe"] });
  const { command, args } = getLaunch("linux", "/src/toolpipe/dist/plugins/cli/toolpipe.js");
  expect([command, args.at(-1)]).toEqual([process.execPath, "/src/toolpipe/dist/plugins/cli/toolpipe.js"]);
});
