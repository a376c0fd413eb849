import { Buffer } from "node:buffer";
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { definePlugin, type JsonObject } from "../../../core/mod.ts";
import { auth } from "../../../plugins/auth/mod.ts";
import type { Overview, PendingRow } from "../../../plugins/dashboard/overview.ts";
import { by, people } from "../_people.ts";
import { openDashboard } from "./_dashboard.ts";

async function fetchOverview(url: string, since = 0, init: RequestInit = {}): Promise<Overview> {
  return (await (await fetch(new URL(`dashboard/data?since=${since}`, url), init)).json()) as Overview;
}

/** Sends a decision with headers that a browser would not let a page choose. */
function decide(
  url: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<readonly [number, JsonObject]> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const sent = request(
      new URL("dashboard/decide", url),
      {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(text),
          ...headers,
        },
      },
      (response) => {
        let received = "";
        response.on("data", (chunk) => {
          received += chunk;
        });
        response.on("end", () => resolve([response.statusCode ?? 0, JSON.parse(received)]));
      },
    );
    sent.on("error", reject);
    sent.end(text);
  });
}

describe("the page", () => {
  test("may load its own files and nothing else, and there are no others", async () => {
    const { url } = await openDashboard();
    const page = await fetch(url);
    expect(page.headers.get("content-security-policy")).toMatch(
      /default-src 'none'; script-src 'self';.*frame-ancestors 'none'/,
    );
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    const html = await page.text();
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|\son\w+=|style=/);
    const files = [...html.matchAll(/(?:href|src)="(dashboard\/[^"]+)"/g)].map(([, file]) => String(file));
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) expect((await fetch(new URL(file, url))).status).toBe(200);
    for (const wrong of ["package.json", "..%2fmod.ts", "%2e%2e/mod.ts", "tsconfig.json", "constructor", ""])
      expect((await fetch(`${url}dashboard/${wrong}`)).status).toBe(404);
  });

  test("is told of calls since it last looked, without arguments and results", async () => {
    const { server, url } = await openDashboard();
    const { gateway } = server;
    await gateway.run({ tool: "local:ok", args: { password: "canary" } });
    const first = await fetchOverview(url);
    expect(first.calls).toMatchObject([{ seq: 1, tool: "local:ok", outcome: "ok", stage: "execute" }]);
    await gateway.run({ tool: "local:fail" });
    expect((await fetchOverview(url, 1)).calls).toMatchObject([{ seq: 2, outcome: "tool_error" }]);
    expect((await fetchOverview(url, 2)).calls).toEqual([]);
    expect((await fetchOverview(url, Number.NaN)).calls).toHaveLength(2);
    expect(JSON.stringify(await fetchOverview(url))).not.toContain("canary");
  });

  test("keeps no more calls than it should, however many there are", async () => {
    const { createCallHistory } = await import("../../../plugins/dashboard/call-history.ts");
    const history = createCallHistory(10);
    const settled = { id: "1", toolId: "a:b", actor: { id: "x" }, startedAt: 0, durationMs: 1, ok: false };
    for (let count = 0; count < 1_000; count++)
      history.end({ ...settled, error: { code: "DENIED" }, stage: "policy" } as never);
    expect(history.seen(0).map(({ seq }) => seq)).toEqual([
      991, 992, 993, 994, 995, 996, 997, 998, 999, 1_000,
    ]);
  });

  test("is for callers of its scope only, where callers are known", async () => {
    const [ann, bob] = people.tokens ?? [];
    if (!ann || !bob) throw new Error("There are no users.");
    const { url } = await openDashboard([auth({ tokens: [{ ...ann, scopes: ["admin"] }, bob] })]);
    const fetchStatus = async (path: string, init?: RequestInit): Promise<number> =>
      (await fetch(new URL(path, url), init)).status;
    expect(await fetchStatus("")).toBe(200);
    expect(await fetchStatus("dashboard/data")).toBe(401);
    expect(await fetchStatus("dashboard/decide", { method: "POST" })).toBe(401);
    expect(await fetchStatus("dashboard/data", by("bob"))).toBe(403);
    const decided = await decide(url, {}, { ...by("bob").headers, origin: new URL(url).origin });
    expect(decided[0]).toBe(403);
    expect((await fetchOverview(url, 0, by("ann"))).actor).toBe("ann");
  });
});

describe("a decision", () => {
  async function waiting() {
    const { url, server } = await openDashboard();
    const { token, pending } = await fetchOverview(url);
    const own = { origin: new URL(url).origin, "x-toolpipe-token": token };
    const files = pending.find(({ id }) => id === "files") as PendingRow;
    const { status: _status, summary: _summary, ...what } = files;
    const isHeld = (): boolean =>
      server.gateway.services.servers?.status("files")?.status === "needs-approval";
    return { url, server, own, what, isHeld };
  }

  test("is not taken where callers need no token, unless that is asked for: an agent could send it by a tool", async () => {
    const { url } = await openDashboard([], {});
    const { token, pending } = await fetchOverview(url);
    const own = { origin: new URL(url).origin, "x-toolpipe-token": token };
    const { kind, id, hash } = pending[0] as PendingRow;
    const [status, body] = await decide(url, { kind, id, hash, grant: true }, own);
    expect(status).toBe(403);
    expect(JSON.stringify(body)).toContain("toolpipe approve");
    expect((await fetchOverview(url)).pending).toHaveLength(pending.length);
  });

  test("counts only from the page itself, and with what only the page knows", async () => {
    const { url, own, what, isHeld } = await waiting();
    const { port } = new URL(url);
    const { origin, "x-toolpipe-token": token } = own;
    for (const headers of [
      { origin },
      { origin, "x-toolpipe-token": "" },
      { origin, "x-toolpipe-token": `${token}x` },
      { "x-toolpipe-token": token },
      { ...own, origin: "https://evil.example" },
      { ...own, origin: `http://localhost:${Number(port) + 1}` },
      { ...own, origin: "null" },
      { ...own, "sec-fetch-site": "cross-site" },
      { ...own, "sec-fetch-site": "same-site" },
    ]) {
      const [status] = await decide(url, { ...what, grant: true }, headers as Record<string, string>);
      expect(status).toBe(403);
    }
    // A form cannot send JSON, and a page cannot send it elsewhere without asking.
    const [form] = await decide(url, { ...what, grant: true }, { ...own, "content-type": "text/plain" });
    expect(form).toBe(415);
    expect(isHeld()).toBe(true);
    const [status, { pending }] = await decide(url, { ...what, grant: true }, own);
    expect(status).toBe(200);
    expect((pending as PendingRow[]).map(({ id }) => id)).toEqual(["other"]);
    await expect.poll(isHeld, { timeout: 20_000 }).toBe(false);
  });

  test("applies to the definition that the page listed, and to no later one", async () => {
    const { url, own, what, isHeld } = await waiting();
    for (const other of [{ hash: "0".repeat(64) }, { id: "broken" }, { kind: "tool" }]) {
      const [status, body] = await decide(url, { ...what, ...other, grant: true }, own);
      expect(status).toBe(409);
      expect(JSON.stringify(body)).toContain("does not wait for approval as it was shown");
    }
    for (const wrong of [{}, { ...what }, { ...what, grant: "yes" }, { ...what, grant: true, more: 1 }, []])
      expect((await decide(url, wrong, own))[0]).toBe(400);
    expect(isHeld()).toBe(true);
  });

  test("to refuse leaves it as it is, and it is no longer asked for", async () => {
    const { url, own, what, isHeld } = await waiting();
    await decide(url, { ...what, grant: false }, own);
    expect((await fetchOverview(url)).pending.map(({ id }) => id)).toEqual(["other"]);
    expect(isHeld()).toBe(true);
  });

  test("lets a tool go that is held back", async () => {
    const approved: string[] = [];
    const gate = definePlugin({
      name: "gate",
      uses: ["approvals"],
      setup({ services, register }) {
        const { gateTools } = services.approvals;
        const isHeld = (id: string): boolean => id === "local:ok" && !approved.includes(id);
        const found = { status: "changed", reason: "It was changed.", hash: "h" } as const;
        const { held, release } = gateTools((tool) => (isHeld(tool.id) ? found : undefined));
        register("approval", "tool", {
          pending: () =>
            held().map(({ tool, ...rest }) => ({ ...rest, kind: "tool", id: tool.id, summary: rest.reason })),
          approve: async (items) => {
            approved.push(...items.map(({ id }) => id));
            await release("local");
            return items;
          },
          revoke: async () => undefined,
        });
      },
    });
    const { url, server } = await openDashboard([gate()]);
    const call = async (): Promise<string> =>
      (await server.gateway.run({ tool: "local:ok" })).error?.code ?? "ok";
    expect(await call()).toBe("TOOL_CHANGED");
    const { token, pending } = await fetchOverview(url);
    expect(pending).toContainEqual({
      kind: "tool",
      id: "local:ok",
      status: "changed",
      summary: "It was changed.",
      hash: "h",
    });
    const own = { origin: new URL(url).origin, "x-toolpipe-token": token };
    const [status] = await decide(url, { kind: "tool", id: "local:ok", hash: "h", grant: true }, own);
    expect([status, approved, await call()]).toEqual([200, ["local:ok"], "ok"]);
  });
});
