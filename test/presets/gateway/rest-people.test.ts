import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject, Plugin } from "../../../core/mod.ts";
import { getRestStatus } from "../../../presets/gateway/rest.ts";
import { serveGateway, until } from "../../plugins/serve/_http.ts";
import { people } from "../../together/_people.ts";
import { type PaySetting, paySetting } from "../_gateway-api.ts";

const charge = "/api/adapters/pay/tools/charge-authorization";
const card = { amount: 500000, email: "customer@example.com", authorization_code: "AUTH_xxxxx" };

/** The machine that runs the tests may be busy with others. */
const UNREACHED_LAG_MS = 600_000;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonObject;
}

interface Rest extends PaySetting {
  get(path: string, actor?: string): Promise<Answer>;
  post(path: string, actor?: string, headers?: Record<string, string>): Promise<Answer>;
}

async function rest(options: Record<string, object> = {}, plugins: readonly Plugin[] = []): Promise<Rest> {
  const scopes = { "*": ["*", "payments:write", "pay:execute"] };
  const setting = await paySetting({
    auth: people,
    guard: { scopes, trusted: ["demo"] },
    overload: { maxLagMs: UNREACHED_LAG_MS },
    ...options,
  });
  const { config } = setting;
  const { url } = await serveGateway({ ...config, plugins: [...(config.plugins ?? []), ...plugins] });
  const ask = async (path: string, actor: string | undefined, init: RequestInit): Promise<Answer> => {
    const headers = {
      ...(actor !== undefined && { authorization: `Bearer tp_${actor}` }),
      ...(init.headers as Record<string, string>),
    };
    const response = await fetch(new URL(path, url), { ...init, headers });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as JsonObject,
    };
  };
  return {
    ...setting,
    get: (path, actor) => ask(path, actor, {}),
    post: (path, actor, headers = {}) =>
      ask(path, actor, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(card),
      }),
  };
}

describe("REST for users with tokens", () => {
  test("is not visible to other callers", async () => {
    const { get, post, received } = await rest();
    for (const answer of [await get("/api/adapters"), await post(charge), await post(charge, "eve")]) {
      expect(answer).toMatchObject({
        status: 401,
        body: { success: false, error: { code: "UNAUTHENTICATED" } },
      });
      expect(answer.headers.get("www-authenticate")).toContain("/.well-known/oauth-protected-resource/mcp");
    }
    expect(received).toEqual([]);
    expect((await get("/api/adapters", "ann")).status).toBe(200);
  });

  test("knows each user: keys and records are separate", async () => {
    const { post, received, records } = await rest();
    const key = { "idempotency-key": "order-1234" };
    for (const actor of ["ann", "ann", "bob"]) {
      const answer = await post(charge, actor, key);
      expect(answer).toMatchObject({ status: 200, body: { success: true } });
    }
    // Once for each of them: what one did under a key is not what another gets.
    expect(received).toHaveLength(2);
    expect(new Set(records.map(({ actor_id }) => actor_id))).toEqual(new Set(["ann", "bob"]));
  });
});

describe("a server that refuses the credentials of the gateway", () => {
  test("never becomes a 401 of the gateway", async () => {
    const upstream = createServer((_, response) =>
      response.writeHead(401, { "www-authenticate": "Bearer realm=theirs" }).end("{}"),
    );
    await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void upstream.close());
    const { port } = upstream.address() as AddressInfo;
    const setting = await paySetting();
    const document = {
      openapi: "3.0.3",
      info: { title: "Theirs", version: "1" },
      servers: [{ url: `http://127.0.0.1:${port}` }],
      paths: { "/x": { get: { operationId: "getX", responses: { 200: { description: "x" } } } } },
    };
    const { writeFile } = await import("node:fs/promises");
    const { join } = await import("node:path");
    const file = join(setting.folder, "theirs.json");
    await writeFile(file, JSON.stringify(document));
    const { post } = await rest({
      openapi: { adapters: { theirs: { document: file, allowPrivate: true } } },
    });
    const answer = await post("/api/adapters/theirs/tools/get-x", "ann");
    expect(answer.status).not.toBe(401);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.headers.get("www-authenticate")).toBe(null);
    expect(getRestStatus({ code: "NEEDS_AUTH" })).toBe(502);
  });
});

describe("an overloaded gateway", () => {
  test("answers 503 with Retry-After, and executes nothing", async () => {
    let release = (): void => {};
    let begun = 0;
    const slow: Plugin = {
      name: "slow",
      order: "pre",
      setup: () => ({
        async execute(call, next) {
          if (call.toolId.startsWith("pay:")) {
            begun++;
            await new Promise<void>((resolve) => {
              release = resolve;
            });
          }
          return next();
        },
      }),
    };
    const overload = { maxConcurrent: 1, maxWaiting: 0, maxLagMs: UNREACHED_LAG_MS };
    const { post, received } = await rest({ overload }, [slow]);
    const first = post(charge, "ann", { "idempotency-key": "order-of-ann" });
    await until(() => begun === 1, 30_000);
    const refused = await post(charge, "bob", { "idempotency-key": "order-of-bob" });
    expect(refused).toMatchObject({
      status: 503,
      body: { success: false, error: { code: "OVERLOADED" } },
    });
    expect(refused.headers.get("retry-after")).toBe("1");
    release();
    expect((await first).status).toBe(200);
    expect(received).toHaveLength(1);
    // The key of the refused call was never used.
    const again = post(charge, "bob", { "idempotency-key": "order-of-bob" });
    await until(() => begun === 2, 30_000);
    release();
    expect((await again).status).toBe(200);
  });
});
