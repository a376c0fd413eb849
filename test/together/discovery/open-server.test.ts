import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ServerConfig } from "../../../core/services/sources.ts";
import type { DiscoveryOptions } from "../../../plugins/discovery/mod.ts";
import { findSpareToken } from "../../../plugins/lib/server-entry/spare-token.ts";
import { closeServers } from "../../fixtures/http-servers.ts";
import { createMachine, gatedServer, remote } from "../../plugins/discovery/_fixtures.ts";
import { catchFailure } from "../../support/failure.ts";
import { pooled } from "./_pool.ts";

afterEach(closeServers);
afterEach(() => vi.unstubAllEnvs());

const env = { MCP_AUTH_TOKEN: "generic-token", GITHUB_MCP_TOKEN: "github-token" };
const machine = createMachine(env)();

describe("a token that no definition names goes to", () => {
  test.each<[string, ServerConfig, string | undefined]>([
    ["a server of the person's config", remote("a", "https://a.example/mcp"), "MCP_AUTH_TOKEN"],
    [
      "a server of the person's client",
      remote("a", "https://a.example/mcp", { origin: { scope: "user" } }),
      "MCP_AUTH_TOKEN",
    ],
    ["a server on this machine", remote("a", "http://127.0.0.1:7007/mcp"), "MCP_AUTH_TOKEN"],
    ["no server that is reached in the clear", remote("a", "http://a.example/mcp"), undefined],
    [
      "no server of a project",
      remote("a", "https://a.example/mcp", { origin: { scope: "project" } }),
      undefined,
    ],
    [
      "no server of a registry",
      remote("a", "https://a.example/mcp", { origin: { source: "registry", scope: "user" } }),
      undefined,
    ],
    [
      "no server with a token of its own",
      remote("a", "https://a.example/mcp", { connection: { bearerEnv: "OWN" } }),
      undefined,
    ],
    [
      "no server with a header that proves something",
      remote("a", "https://a.example/mcp", { connection: { headers: { "X-Api-Key": "k" } } }),
      undefined,
    ],
    [
      "no server with a login of its own",
      remote("a", "https://a.example/mcp", { connection: { oauth: {} } }),
      undefined,
    ],
    ["no server with a password in its URL", remote("a", "https://u:p@a.example/mcp"), undefined],
    ["no server whose URL is not known", remote("a", `\${UNSET}/mcp`), undefined],
    [
      "no process",
      { ...remote("a", ""), connection: { type: "stdio", command: "x", args: [], env: {} } },
      undefined,
    ],
  ])("%s", (_, config, expected) => {
    expect(findSpareToken(config, machine)).toBe(expected);
  });

  test.each([
    ["https://api.githubcopilot.com/mcp/", "GITHUB_MCP_TOKEN"],
    ["https://api.github.com/mcp", "GITHUB_MCP_TOKEN"],
    ["https://api.github.com.evil.example/mcp", "MCP_AUTH_TOKEN"],
    ["https://evil.example/api.github.com", "MCP_AUTH_TOKEN"],
    ["https://someone.github.io/mcp", "MCP_AUTH_TOKEN"],
    ["http://api.github.com/mcp", undefined],
  ])("GitHub alone, where it is GitHub's: %s", (url, expected) => {
    expect(findSpareToken(remote("github", url), machine)).toBe(expected);
  });

  test("GitHub like any other if it has none of its own, and to no server if none is set", () => {
    const github = remote("github", "https://api.githubcopilot.com/mcp/");
    expect(findSpareToken(github, createMachine({ MCP_AUTH_TOKEN: "t" })())).toBe("MCP_AUTH_TOKEN");
    expect(findSpareToken(github, createMachine({ MCP_AUTH_TOKEN: "" })())).toBeUndefined();
  });
});

describe("a server that", () => {
  beforeEach(() => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "hunter2");
  });

  /** Records the requests that a server receives, which answers 401 without this token. */
  async function recordRequests(
    wanted: string | undefined,
    config: (url: string) => ServerConfig = (url) => remote("a", url),
    options: DiscoveryOptions = {},
  ): Promise<{ code: string; seen: Set<string | undefined>; headers: Set<string | undefined> }> {
    const seen = new Set<string | undefined>();
    const headers = new Set<string | undefined>();
    const server = await gatedServer((request) => {
      const { authorization } = request.headers;
      seen.add(authorization);
      headers.add(request.headers["x-tenant"] as string | undefined);
      return wanted === undefined || authorization === wanted ? undefined : 401;
    });
    const service = pooled({
      allowPrivate: true,
    });
    const outcome = await service.discoverTools(config(server.url), options).then(
      () => "ok",
      (thrown: unknown) => (thrown as { code: string }).code,
    );
    return { code: outcome, seen, headers };
  }

  test("does not ask for a token gets none", async () => {
    expect(await recordRequests(undefined)).toMatchObject({ code: "ok", seen: new Set([undefined]) });
  });

  test("asks for one gets the generic one", async () => {
    expect(await recordRequests("Bearer generic-token")).toMatchObject({
      code: "ok",
      seen: new Set([undefined, "Bearer generic-token"]),
    });
  });

  test("wants another one is not asked again and again", async () => {
    const { code, seen } = await recordRequests("Bearer something-else");
    expect(code).toBe("NEEDS_AUTH");
    expect(seen).toEqual(new Set([undefined, "Bearer generic-token"]));
  });

  test("a registry or a project names gets none, however much it asks", async () => {
    for (const origin of [{ source: "registry" }, { scope: "project" }] as const) {
      const { code, seen } = await recordRequests("Bearer generic-token", (url) =>
        remote("a", url, { origin }),
      );
      expect(code).toBe("NEEDS_AUTH");
      expect(seen).toEqual(new Set([undefined]));
    }
  });

  test("gets the given headers unchanged, instead of its own", async () => {
    const value = `Bearer \${MCP_AUTH_TOKEN} $$ {env:HOME}`;
    const { code, seen, headers } = await recordRequests(
      value,
      (url) =>
        remote("a", url, { connection: { headers: { authorization: "Bearer old", "X-Tenant": "mine" } } }),
      { authHeaders: { Authorization: value } },
    );
    expect(code).toBe("ok");
    expect(seen).toEqual(new Set([value]));
    expect(headers).toEqual(new Set(["mine"]));
  });

  test("a registry names gets what the caller says it shall have", async () => {
    const { code } = await recordRequests(
      "Bearer given",
      (url) => remote("a", url, { origin: { source: "registry", scope: "project" } }),
      { authHeaders: { Authorization: "Bearer given" } },
    );
    expect(code).toBe("ok");
  });

  test("a registry names cannot ask for our variables", async () => {
    const server = await gatedServer(() => undefined);
    const service = pooled({
      allowPrivate: true,
    });
    const config = remote("a", server.url, {
      origin: { source: "registry", scope: "project" },
      connection: { headers: { "X-Key": `\${AWS_SECRET_ACCESS_KEY}` } },
    });
    const error = await catchFailure(service.discoverTools(config));
    expect(error.code).toBe("MISSING_VARIABLE");
    expect(server.seen).toEqual([]);
  });
});
