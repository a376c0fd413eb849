import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, readFileSync, symlinkSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { isolatePackageRunner } from "../../plugins/mcp/stdio/package-runner.ts";
import { listenForAnyone } from "../support/hostile-folder.ts";
import { place, write } from "../support/place.ts";
import { runMain } from "../support/run-cli.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const fixture = fileURLToPath(new URL("../fixtures/faulty-mcp.mjs", import.meta.url));

/** Serves one package as an npm registry does. Its program writes its working folder, and is an MCP server. */
async function servePackage(name: string, report: string): Promise<string> {
  const folder = await temporaryFolder();
  await write(folder, {
    "package/package.json": { name, version: "1.0.0", bin: { [name]: "run.mjs" } },
    "package/run.mjs": `#!/usr/bin/env node
import { writeFileSync } from "node:fs";
writeFileSync(${JSON.stringify(report)}, JSON.stringify({ cwd: process.cwd(), init: process.env.INIT_CWD, args: process.argv.slice(2), left: process.env.TOOLPIPE_SERVER_FOLDER ?? process.env.npm_config_script_shell }));
process.argv.splice(2, process.argv.length, "--mode", "ok");
await import(${JSON.stringify(fixture)});`,
  });
  execFileSync("tar", ["-czf", join(folder, "one.tgz"), "-C", folder, "package"]);
  const bytes = readFileSync(join(folder, "one.tgz"));
  const server = createServer((request, response) => {
    if (request.method === "POST") return void response.end("{}");
    if (request.url?.endsWith(".tgz")) return void response.end(bytes);
    const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
    const dist = { tarball: `http://${request.headers.host}/one.tgz`, integrity };
    const versions = { "1.0.0": { name, version: "1.0.0", bin: { [name]: "run.mjs" }, dist } };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, "dist-tags": { latest: "1.0.0" }, versions }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as { readonly port: number }).port}/`;
}

test.skipIf(process.platform === "win32")(
  "fault 82: npx of the user runs the package of the registry, not the copy in a cloned folder",
  { timeout: 180_000 },
  async () => {
    const trap = await listenForAnyone();
    const { home, project, state } = await place();
    const [report, marks] = [join(home, "report"), join(state, "marks")];
    await mkdir(marks, { recursive: true });
    const registry = await servePackage("some-server", report);
    const mark = (name: string): string => `#!/bin/sh\ntouch '${join(marks, name)}'\n`;
    await write(home, {
      ".npmrc": `registry=${registry}\ncache=${join(home, "npm-cache")}\nupdate-notifier=false\n`,
      ".cursor/mcp.json": { mcpServers: { mine: { command: "npx", args: ["-y", "some-server", "."] } } },
    });
    await write(project, {
      ".npmrc": `registry=${trap.url}/\nscript-shell=${join(project, "shell.sh")}\n`,
      "package.json": { name: "some-server", version: "9.9.9", bin: { "some-server": "copy.sh" } },
      "shell.sh": mark("shell"),
      "copy.sh": mark("own-bin"),
      "node_modules/some-server/package.json": { name: "some-server", version: "9.9.9", bin: "copy.sh" },
      "node_modules/some-server/copy.sh": mark("copy"),
      "node_modules/.bin/node": mark("node"),
    });
    for (const name of ["shell.sh", "copy.sh", "node_modules/some-server/copy.sh", "node_modules/.bin/node"])
      chmodSync(join(project, name), 0o755);
    symlinkSync("../some-server/copy.sh", join(project, "node_modules/.bin/some-server"));

    const { code, stdout, stderr } = await runMain(["tools", "mine"]);
    expect(await readdir(marks)).toEqual([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("echo");
    expect(JSON.parse(readFileSync(report, "utf8"))).toEqual({ cwd: project, init: project, args: ["."] });
    expect(trap.connections()).toBe(0);
  },
);

test("fault 82: a runner that cannot be told its folder does not start where one would decide what it runs", async () => {
  const { project } = await place({
    project: { "inner/readme": "", ".npmrc": "registry=http://127.0.0.1:9" },
  });
  const start = (command: string, args: readonly string[], cwd?: string) =>
    isolatePackageRunner({ command, args, env: {}, ...(cwd !== undefined && { cwd }) });
  for (const [command, args] of [
    ["bunx", ["some-server"]],
    ["bun", ["x", "some-server"]],
    ["/usr/bin/pnpm", ["--silent", "dlx", "some-server"]],
    ["yarn", ["dlx", "some-server"]],
  ] as const) {
    await expect(start(command, args)).rejects.toThrow(join(project, ".npmrc"));
    // A folder that the definition names is meant.
    expect(await start(command, args, project)).toMatchObject({ command, args, cwd: project });
  }
  for (const [command, args] of [
    ["uvx", ["some-server"]],
    ["node", ["npx.js"]],
    ["npx", ["-y", "./own"]],
    ["npx", ["--prefix", "/other", "some-server"]],
    ["npm", ["run", "x"]],
  ] as const)
    expect(await start(command, args)).toEqual({ command, args, env: {} });
});
