// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { chmod, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { closeServers, modern } from "../../../fixtures/http-servers.ts";
import { type OAuthServerOptions, oauthServer } from "../../../fixtures/oauth-server.ts";
import { faulty, place, write } from "../../../support/place.ts";
import { type Finished, runMain } from "../../../support/run-cli.ts";

afterEach(closeServers);

/** A server that wants a login, named `remote` in the config. */
async function guarded(options: OAuthServerOptions = {}) {
  const service = await oauthServer(options);
  const server = await modern("stateless", service.guard);
  const where = await place({
    project: { "toolpipe.config.json": { mcpServers: { remote: { type: "http", url: server.url } } } },
  });
  return { ...where, service, server };
}

/** Logs in with a browser that follows the address which is printed. */
async function loginByHand(...args: string[]): Promise<Finished> {
  const running = runMain(["login", "remote", "--no-browser", ...args]);
  const url = await vi.waitFor(
    () => {
      const printed = vi
        .mocked(process.stderr.write)
        .mock.calls.map(([text]) => String(text))
        .join("");
      const found = /^Log in here: (http:\S+)$/m.exec(printed)?.[1];
      if (found === undefined) throw new Error("No address yet.");
      return found;
    },
    { timeout: 10_000, interval: 10 },
  );
  await fetch(url);
  return await running;
}

describe("login", () => {
  test("prints where to log in, and then the server can be used", async () => {
    const { service, state } = await guarded();
    const before = await runMain(["list"]);
    expect(before.stdout).toMatch(/✗ remote \(0 tools\)\n {2}Status: Error\n .*toolpipe login remote.*\n/);
    expect(await runMain(["tools", "remote"])).toMatchObject({
      code: 3,
      stdout: "",
      stderr: 'The server "remote" asks for a login. Run "toolpipe login remote".\n',
    });
    const { code, stdout, stderr } = await loginByHand();
    expect(stdout).toBe(`✓ Logged in to remote (by ${service.origin})\n`);
    expect(stderr).toMatch(/^Log in here: http:\S+\n$/);
    expect(code).toBe(0);
    expect(await readdir(join(state, "state"))).toContain("oauth");
    expect((await runMain(["execute", "remote", "echo", "--args", '{"text":"let in"}'])).stdout).toContain(
      "Result:\n  let in\n",
    );
  });

  test("prints JSON when asked, and the address where it does not disturb", async () => {
    const { service } = await guarded();
    const { code, stdout, stderr } = await loginByHand("--json");
    expect(JSON.parse(stdout)).toEqual({ loggedIn: "remote", issuer: service.origin });
    expect(stderr).toMatch(/^Log in here: http:\S+\n$/);
    expect(code).toBe(0);
  });

  test("tells of a login that was refused, in one line", async () => {
    await guarded({ refuses: "access_denied" });
    const { code, stdout, stderr } = await loginByHand();
    expect(stderr).toMatch(/^Log in here: \S+\n[^\n]+\n$/);
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
  });

  test.skipIf(process.platform !== "linux")("opens the browser that the system has", async () => {
    const { project, service } = await guarded();
    await write(project, {
      "bin/xdg-open": '#!/bin/sh\nexec node -e "fetch(process.argv[1])" "$1"\n',
    });
    await chmod(join(project, "bin/xdg-open"), 0o755);
    process.env["PATH"] = `${join(project, "bin")}${delimiter}${process.env["PATH"]}`;
    expect((await runMain(["login", "remote"])).stdout).toBe(
      `✓ Logged in to remote (by ${service.origin})\n`,
    );
  });

  test("is refused for a server that is a process, and for one that is not there", async () => {
    await place({
      project: {
        "toolpipe.config.json": { plugins: ["toolpipe/plugins/demo"], mcpServers: { one: faulty() } },
      },
    });
    for (const name of ["one", "demo"]) {
      expect(await runMain(["login", name])).toEqual({
        code: 2,
        stdout: "",
        stderr: `The server "${name}" is not a remote one: it needs no login.\n`,
      });
    }
    expect(await runMain(["login", "oen"])).toMatchObject({
      code: 2,
      stderr: 'There is no server "oen"; did you mean "one"? The servers are one, demo.\n',
    });
    expect(await runMain(["login"])).toMatchObject({ code: 1 });
  });

  test("asks nothing of a server in a project that is not approved", async () => {
    const { server } = await guarded();
    await place({
      project: {
        ".mcp.json": {
          mcpServers: { remote: { type: "http", url: server.url, headers: { "X-Name": "${HOME}" } } },
        },
      },
    });
    const { code, stdout, stderr } = await runMain(["login", "remote", "--no-browser"]);
    expect(stderr).toMatch(/^The server "remote" cannot be used\. [^\n]*toolpipe approve remote\n$/);
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(server.seen).toEqual([]);
  });

  test("is not offered for a server that cannot be reached", async () => {
    const { server } = await guarded();
    await server.close();
    const { code, stdout, stderr } = await runMain(["login", "remote", "--no-browser"]);
    expect(stderr).toMatch(/^[^\n]*cannot be reached[^\n]*\n$/);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  });
});
