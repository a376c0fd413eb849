import { describe, expect, test } from "vitest";
import { createGateway, definePlugin, type GatewayError, type Plugin } from "../../../core/mod.ts";
import type { Route } from "../../../core/services/http.ts";
import { preset, serveGateway } from "../../plugins/serve/_http.ts";
import { catchFailure } from "../../support/failure.ts";
import { by, onlyPeople } from "../_people.ts";

const saying: Route = {
  handle: ({ url }, response, actor) => void response.end(`${actor?.id ?? "anonymous"} at ${url}`),
};

function routes(all: Readonly<Record<string, Route>>): Plugin {
  return definePlugin({
    name: "routes-of-a-test",
    setup(gateway) {
      for (const [path, route] of Object.entries(all)) gateway.register("route", path, route);
    },
  })();
}

async function openRoutes(
  all: Readonly<Record<string, Route>>,
  plugins: readonly Plugin[] = [],
): Promise<string> {
  const { url } = await serveGateway({ preset: preset([]), plugins: [...plugins, routes(all)] });
  return new URL(url).origin;
}

describe("an address of a plugin", () => {
  test("is answered by it, also below it if it is a prefix, and the longest counts", async () => {
    const base = await openRoutes({
      "/one": saying,
      "/all/*": saying,
      "/all/own/*": { handle: (_, response) => void response.end("own") },
    });
    expect(await (await fetch(`${base}/one?a=b`)).text()).toBe("local at /one?a=b");
    expect(await (await fetch(`${base}/all/x/y`)).text()).toBe("local at /all/x/y");
    expect(await (await fetch(`${base}/all/own/z`)).text()).toBe("own");
    for (const path of ["/all", "/one/", "/", "/ones"]) {
      expect((await fetch(`${base}${path}`)).status).toBe(404);
    }
  });

  test("needs a token, unless it is open", async () => {
    const base = await openRoutes({ "/own": saying, "/open": { ...saying, open: true } }, [onlyPeople]);
    const refused = await fetch(`${base}/own`);
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toContain("resource_metadata=");
    expect(await refused.json()).toMatchObject({ error: { code: "UNAUTHENTICATED" } });
    expect(await (await fetch(`${base}/own`, by("ann"))).text()).toBe("ann at /own");
    expect(await (await fetch(`${base}/open`)).text()).toBe("anonymous at /open");
  });

  test("takes the methods that it names, and is nothing for the pages of strangers", async () => {
    const base = await openRoutes({ "/read": saying, "/do": { ...saying, methods: ["POST"], open: true } });
    const refused = await fetch(`${base}/read`, { method: "POST" });
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await fetch(`${base}/do`, { method: "POST" })).status).toBe(200);
    for (const path of ["/read", "/do"]) {
      const headers = { origin: "https://evil.example" };
      expect((await fetch(`${base}${path}`, { method: "POST", headers })).status).toBe(403);
    }
  });

  test("never takes that of MCP, and may fail without saying what it knows", async () => {
    const reported: GatewayError[] = [];
    const hearing = {
      name: "hearing",
      setup: () => ({ error: (error: GatewayError) => void reported.push(error) }),
    };
    const failing = {
      handle: () => {
        throw new Error("secret");
      },
    };
    const base = await openRoutes({ "/fail": failing, "/mcp": saying }, [hearing]);
    const failed = await fetch(`${base}/fail`);
    expect(failed.status).toBe(500);
    expect(await failed.text()).not.toContain("secret");
    expect(reported).toHaveLength(1);
    expect((await fetch(`${base}/mcp`)).status).toBe(406);
  });

  test("is one plugin's only", async () => {
    const twice = (name: string): Plugin => ({
      name,
      setup: ({ register }) => register("route", "/a", saying),
    });
    expect(await catchFailure(createGateway({ plugins: [twice("one"), twice("two")] }))).toMatchObject({
      code: "PLUGIN_INVALID",
      message: 'The plugins "one" and "two" both register the route "/a". Rename one of them.',
    });
  });

  test.each([
    [["/a", "/a"], 'The plugin "twice" registers the route "/a" twice.'],
    [["a"], 'The route "a" cannot be served: it must begin with "/".'],
  ])("cannot be %j", async (paths, message) => {
    const twice: Plugin = {
      name: "twice",
      setup(gateway) {
        for (const path of paths) gateway.register("route", path, saying);
      },
    };
    expect(await catchFailure(serveGateway({ preset: preset([]), plugins: [twice] }))).toMatchObject({
      code: "PLUGIN_INVALID",
      message,
    });
  });
});
