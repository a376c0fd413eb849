// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { afterEach, describe, expect, test } from "vitest";
import { createGateway } from "../../../../core/mod.ts";
import { estimatePreset, estimateTools } from "../../../../plugins/cli/cost.ts";
import { fileStore } from "../../../../plugins/state/mod.ts";
import { anygpt } from "../../../../presets/anygpt/mod.ts";
import { closeServers, listen } from "../../../fixtures/http-servers.ts";
import { dead, faulty, marking, place, real, write } from "../../../support/place.ts";
import { runCli, runMain } from "../../../support/run-cli.ts";

afterEach(closeServers);

interface Row {
  readonly name: string;
  readonly state: string;
  readonly ms: number | null;
  readonly tools: number;
  readonly tokens: number;
  readonly problem?: string;
  readonly fix?: string;
}

/** Returns the output of `doctor --json`, with its servers by name. */
async function examine(...args: string[]) {
  const { code, stdout, stderr } = await runMain(["doctor", "--json", ...args]);
  const report = JSON.parse(stdout);
  const rows = new Map<string, Row>(report.servers.map((row: Row) => [row.name, row]));
  return { code, stderr, report, rows, row: (name: string) => rows.get(name) as Row };
}

describe("doctor", () => {
  test("starts every server, times it, and counts its tools and tokens", async () => {
    const { project } = await place({
      project: { "toolpipe.config.json": { mcpServers: { everything: real.everything, time: real.time } } },
    });
    const { code, stdout, stderr } = await runCli(["doctor"], { cwd: project });
    expect(stdout).toMatch(/^✓ everything {2} +\d+ tools +[\d,]+ tokens +[\d.]+ m?s$/m);
    expect(stdout).toMatch(/^✓ time {2} +\d+ tools +[\d,]+ tokens +[\d.]+ m?s$/m);
    expect(stdout).toMatch(
      /^2 servers, \d+ tools: about [\d,]+ tokens for an agent if all were loaded, \d+ through toolpipe \(\d+ % less\)\.$/m,
    );
    expect(stdout).toMatch(/\n\nNo problems found\.\n$/);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  }, 60_000);

  test("starts every server, whatever is cached", async () => {
    const { project } = await place();
    const { definition, marks } = await marking(project);
    await write(project, { "toolpipe.config.json": { mcpServers: { one: definition } } });
    for (let round = 1; round <= 2; round++) {
      expect((await examine()).code).toBe(0);
      expect(await readFile(marks, "utf8")).toBe("started\n".repeat(round));
    }
  });

  test("counts tokens about as a tokenizer does, and what the agent really reads through toolpipe", async () => {
    const { project } = await place();
    const mcpServers = { everything: real.everything, files: real.files(project) };
    await write(project, { "toolpipe.config.json": { mcpServers } });
    const { report } = await examine();
    const gateway = await createGateway({ preset: anygpt, options: { sources: { mcpServers } } });
    await gateway.services.servers?.refresh();
    const tools = gateway.catalog.tools();
    const exposed = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const exact = encode(JSON.stringify(exposed)).length;
    expect(estimateTools(tools) / exact).toBeGreaterThan(0.85);
    expect(estimateTools(tools) / exact).toBeLessThan(1.15);
    expect(report.totals.tools).toBe(tools.length);
    expect(report.totals.tokens).toBeGreaterThan(estimateTools(tools) * 0.9);
    expect(report.totals.tokensThroughToolpipe).toBe(estimatePreset(gateway, anygpt));
    expect(report.totals.tokensThroughToolpipe).toBeLessThan(500);
    await gateway.close();
  }, 60_000);

  test("names each problem and its fix, and exits with 1", async () => {
    const sleeper = { command: "node", args: ["-e", "setInterval(() => {}, 1000)"], startTimeoutMs: 400 };
    const { project } = await place({
      project: {
        "toolpipe.config.json": {
          mcpServers: {
            fine: faulty(),
            gone: { command: "uvx", args: ["mcp-server-nowhere"] },
            path: dead,
            folder: { ...faulty(), cwd: "/nowhere/at/all" },
            variable: { command: "node", args: ["${DOCTOR_NOT_SET}"] },
            slow: sleeper,
            off: { ...dead, disabled: true },
          },
        },
      },
    });
    const config = `${project}/toolpipe.config.json`;
    const { code, stderr, report, row } = await examine();
    expect({ code, stderr, ok: report.ok }).toEqual({ code: 1, stderr: "", ok: false });
    expect(row("fine")).toMatchObject({ state: "ok", ms: expect.any(Number) });
    expect(row("gone").problem).toContain('The command "uvx" could not be started: it was not found.');
    expect(row("gone").fix).toBe(
      `Install uv (https://docs.astral.sh/uv), or write its full path as "command" in ${config}.`,
    );
    expect(row("path").fix).toBe(`Install "to-be-found", or correct its path as "command" in ${config}.`);
    expect(row("folder").fix).toBe(`Create the folder /nowhere/at/all, or correct "cwd" in ${config}.`);
    expect(row("variable").fix).toMatch(/^Set DOCTOR_NOT_SET where toolpipe is started, or give a default/);
    expect(row("slow").problem).toBe('The server "slow" was not ready within 400 ms.');
    expect(row("slow").fix).toMatch(/^Run it by hand .*"startTimeoutMs" in /);
    expect(row("off")).toMatchObject({ state: "off", ms: null });
    const { stdout } = await runMain(["doctor"]);
    expect(stdout).toMatch(/^✓ fine {2}/);
    expect(stdout).toMatch(/^✗ gone +The command .*\n {4}→ Install uv/m);
    expect(stdout).toMatch(/^- off +It is switched off in /m);
    expect(stdout).toMatch(/\n\n5 problems to fix: see ✗ above\.\n$/);
  });

  test("prints the last message of a crashed server, without its secrets", async () => {
    const script = `
      console.error("starting");
      throw new Error("bad key " + process.env.API_KEY + " with " + process.argv[1] + " and PASSWORD=hunter2hunter2");
    `;
    await place({
      project: {
        "keys.env": "FILE_KEY=canary-from-file-1\n",
        "toolpipe.config.json": {
          mcpServers: {
            crash: {
              command: "node",
              args: ["-e", script, "canary-arg-4321"],
              env: { API_KEY: "canary-env-1234" },
            },
            file: {
              command: "node",
              args: ["-e", "throw new Error('no ' + process.env.FILE_KEY)"],
              envFile: "./keys.env",
            },
          },
        },
      },
    });
    const { stdout } = await runMain(["doctor"]);
    expect(stdout).toContain("It said: Error: bad key … with … and PASSWORD=…");
    expect(stdout).toContain("It said: Error: no …");
    expect(stdout).not.toMatch(/canary-env|canary-from-file|hunter2/);
  });

  test("gives the exact command for what waits for approval, with the config it belongs to", async () => {
    const { project } = await place({
      project: {
        ".mcp.json": { mcpServers: { "team docs": faulty() } },
        "own.json": { options: { sources: { clients: "all" } } },
      },
    });
    const bare = await examine();
    expect(bare.row("team docs").fix).toBe(
      `Review it with "toolpipe approve". If you trust it: toolpipe approve 'team docs'`,
    );
    expect(bare.code).toBe(1);
    const { row } = await examine("--config", "own.json");
    expect(row("team docs").fix).toMatch(/: toolpipe approve 'team docs' --config own\.json$/);
    expect(await runMain(["approve", "team docs", "--config", `${project}/own.json`])).toMatchObject({
      code: 0,
    });
    expect((await examine("--config", "own.json")).code).toBe(0);
  });

  test("says to log in where a server asks for it", async () => {
    const server = await listen((_request, response) => {
      response.writeHead(401, { "www-authenticate": 'Bearer realm="x"' }).end();
    });
    await place({ project: { "toolpipe.config.json": { mcpServers: { remote: { url: server.url } } } } });
    const { row, code } = await examine();
    expect(row("remote").fix).toBe("Log in: toolpipe login remote");
    expect(code).toBe(1);
  });

  test("names files that cannot be read by line, entries that cannot be used, and rules that do nothing", async () => {
    const { home, project } = await place({
      home: {
        ".codeium/windsurf/mcp_config.json": `{\n  "mcpServers": {\n    "x": oops\n  }\n}`,
        ".cursor/mcp.json": { mcpServers: { nothing: {}, me: { command: "npx", args: ["-y", "toolpipe"] } } },
      },
      project: {
        "toolpipe.config.json": {
          mcpServers: { one: faulty(), two: faulty("onebadtool") },
          sources: [{ type: "custom", path: "./missing.json" }],
          toolRules: [{ pattern: ["nothing_like_it"], tags: ["never"] }],
          options: { sources: { clients: ["cursor", "windsurf"] } },
        },
      },
    });
    const { code, report } = await examine();
    const problems = report.findings.map(
      ({ problem, severity }: Record<string, string>) => `${severity}: ${problem}`,
    );
    expect(problems).toEqual([
      `broken: ${project}/missing.json: there is no such file.`,
      expect.stringContaining(
        `broken: The servers of windsurf cannot be read. ${home}/.codeium/windsurf/mcp_config.json:3:`,
      ),
      expect.stringMatching(/^broken: In .*cursor\/mcp\.json, the server "nothing" cannot be used/),
      expect.stringMatching(/^note: The server "me" .* is this gateway itself and is left out\.$/),
      expect.stringMatching(/^doubt: 1 tool of "two" cannot be used: /),
      expect.stringMatching(/^doubt: Rule 1 \(nothing_like_it\): It matches no tool\.$/),
    ]);
    for (const { severity, problem, fix } of report.findings)
      if (severity !== "note") expect([problem, typeof fix]).toEqual([problem, "string"]);
    expect(code).toBe(1);
  });

  test("servers that several clients have are one note, and no failure", async () => {
    const own = { mcpServers: { one: faulty(), toolpipe: { command: "npx", args: ["-y", "toolpipe"] } } };
    const files = [".cursor/mcp.json", ".codeium/windsurf/mcp_config.json", ".kiro/settings/mcp.json"];
    await place({ home: Object.fromEntries(files.map((file) => [file, own])) });
    const { code, stdout } = await runMain(["doctor"]);
    expect(stdout).toContain(
      "\n\n- 3 entries of clients are this gateway itself and are left out.\n- 2 entries of clients are the same as others and are left out.\n\n1 server, ",
    );
    expect(code).toBe(0);
  });

  test("names the stored records that cannot be read, and exits with 1", async () => {
    const { project } = await place({
      project: { "toolpipe.config.json": { state: { folder: "store" }, mcpServers: {} } },
    });
    const store = fileStore(join(project, "store"));
    await store.setIfAbsent("idempotency/k", {});
    const values = join(project, "store", "idempotency", "values");
    const file = join(values, String((await readdir(values))[0]));
    await writeFile(file, "{");
    const { code, report } = await examine();
    expect(report.findings).toMatchObject([
      { code: "STATE_DAMAGED", problem: expect.stringContaining(file) },
    ]);
    expect(code).toBe(1);
  });

  test("doubts alone are no failure", async () => {
    await place({
      project: {
        "toolpipe.config.json": {
          mcpServers: { one: faulty() },
          toolRules: [{ pattern: ["nothing_like_it"], tags: ["never"] }],
        },
      },
    });
    const { code, stdout } = await runMain(["doctor"]);
    expect(stdout).toContain(
      "! Rule 1 (nothing_like_it): It matches no tool.\n    → Correct the rule under ",
    );
    expect(stdout).toMatch(/No problems found\.\n$/);
    expect(code).toBe(0);
  });

  test("reports a wrong config, with its path", async () => {
    const { project } = await place({ project: { "toolpipe.config.json": `{\n  "mcpServers": {,}\n}` } });
    const text = await runMain(["doctor"]);
    expect(text.stdout).toMatch(
      new RegExp(`^✗ ${project}/toolpipe\\.config\\.json:2:\\d+: .*\\n {4}→ Correct the config`),
    );
    expect({ code: text.code, stderr: text.stderr }).toEqual({ code: 1, stderr: "" });
    expect((await examine()).report.findings).toHaveLength(1);
    // A usage error is no finding of the doctor.
    expect((await runMain(["doctor", "--config="])).stderr).toContain("needs a value");
  });

  test("names the next step without servers, and succeeds", async () => {
    await place();
    const { code, stdout } = await runMain(["doctor"]);
    expect(stdout).toMatch(/^There are no servers\. /);
    expect(code).toBe(0);
  });
});
