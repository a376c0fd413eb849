import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { place } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";
import { startServe } from "../../support/start-serve.ts";

const demo = { preset: "passthrough", plugins: ["toolpipe/plugins/demo"] };
const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

describe("toolpipe serve --http", () => {
  test("serves users with a token that toolpipe token prints, and refuses others", async () => {
    const { stdout } = await runMain(["token", "--json", "--actor", "ann"]);
    const { token, config } = JSON.parse(stdout) as { token: string; config: object };
    const at = await place({ project: { "a.json": { ...demo, ...config } } });
    const args = ["--config", join(at.project, "a.json"), "--http", "0", "--host", "0.0.0.0"];
    const serving = startServe(args, { cwd: at.project });
    const line = await serving.line("http://");
    const url = /http:\S+/.exec(line)?.[0].replace("0.0.0.0", "127.0.0.1") ?? "";
    const ask = (headers: Record<string, string>) =>
      fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
    expect((await ask({})).status).toBe(401);
    expect((await ask({ authorization: `Bearer ${token}x` })).status).toBe(401);
    const answer = await ask({ authorization: `Bearer ${token}` });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain("word_count");
    expect(serving.errors.join("\n")).not.toContain(token);
  });

  test("refuses a non-loopback address without authentication, and names the fix", async () => {
    const at = await place({ project: { "a.json": demo } });
    const serving = startServe(["--config", join(at.project, "a.json"), "--http", "0", "--host", "0.0.0.0"], {
      cwd: at.project,
    });
    const [code] = await serving.exit;
    expect(code).toBe(2);
    expect(serving.errors.join("\n")).toContain('Make a token with "toolpipe token"');
  });

  test.each([
    [["--host", "0.0.0.0"], "The option --host needs --http."],
    [["--allow-host", "gw.example"], "The option --allow-host needs --http."],
    [["--allow-origin", "https://a.example"], "The option --allow-origin needs --http."],
    [["--http", "--host", ""], "The option --host needs a value."],
    // An address that is kept for documents, and that no machine has.
    [["--http", "--host", "192.0.2.1"], "The port 7007 of 192.0.2.1 cannot be opened."],
    [["--http", "all"], 'The option --http needs a port from 0 to 65535, not "all".'],
    [["--http", "0", "--allow-host", "https://x"], 'The allowed host "https://x" is none'],
    [["--http", "0", "--allow-origin", "x"], 'The allowed origin "x" is none'],
  ])("refuses %j", async (args, message) => {
    const at = await place({ project: { "a.json": demo } });
    const { code, stderr } = await runMain(["serve", "--config", join(at.project, "a.json"), ...args]);
    expect(stderr).toContain(message);
    expect(code).toBeGreaterThan(0);
  });
});
