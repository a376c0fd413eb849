import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import {
  createGateway,
  defineError,
  type Gateway,
  GatewayError,
  type LocalTool,
  localTools,
  type Plugin,
  type ToolResult,
  textResult,
} from "../../core/mod.ts";
import { requestMeta } from "../../core/services/policy.ts";
import { approvals } from "../../plugins/approvals/mod.ts";
import { audit, memorySink } from "../../plugins/audit/mod.ts";
import { type GuardOptions, guard } from "../../plugins/guard/mod.ts";
import { mcp } from "../../plugins/mcp/mod.ts";
import { type RetryOptions, retry } from "../../plugins/retry/mod.ts";
import { sources } from "../../plugins/sources/mod.ts";
import { state } from "../../plugins/state/mod.ts";
import { timeout } from "../../plugins/timeout.ts";
import { upstreams } from "../../plugins/upstreams/mod.ts";
import { getError, readText } from "../support/failure.ts";
import { hang } from "../support/hooks.ts";
import { openGateway } from "../support/open-gateway.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

interface Served {
  readonly gateway: Gateway;
  readonly calls: () => number;
}

type Answer = (call: number) => ToolResult | Promise<ToolResult>;

const closed = (data: Record<string, unknown> = {}): GatewayError =>
  new GatewayError(defineError("UPSTREAM_CLOSED", { retry: true }), "The connection ended.", { data });

/** A server of which every tool answers the same way, behind a guard and the retries. */
async function serve(
  answer: Answer,
  options: { retry?: RetryOptions; guard?: GuardOptions; plugins?: readonly Plugin[] } = {},
): Promise<Served> {
  let calls = 0;
  const run: LocalTool["run"] = () => answer(++calls);
  const tools = ["get_x", "create_x", "charge"].map((name) => ({
    name,
    inputSchema: { type: "object" },
    run,
  }));
  const gateway = await openGateway({
    plugins: [
      state({ folder: await temporaryFolder() }),
      guard(options.guard),
      ...(options.plugins ?? []),
      retry({ baseMs: 1, ...options.retry }),
      localTools("server", { id: "s" }, tools),
    ],
  });
  return { gateway, calls: () => calls };
}

describe("a call that failed on its way", () => {
  const failOnce =
    (error: () => GatewayError): Answer =>
    (call) => {
      if (call === 1) throw error();
      return textResult("done");
    };

  test("is tried again where it only reads", async () => {
    const { gateway, calls } = await serve(failOnce(closed));
    expect(readText(await gateway.run({ tool: "s:get_x" }))).toBe("done");
    expect(calls()).toBe(2);
  });

  test("is not tried again where it changes something", async () => {
    const { gateway, calls } = await serve(failOnce(closed));
    expect(getError(await gateway.run({ tool: "s:create_x" })).code).toBe("OUTCOME_UNKNOWN");
    expect(calls()).toBe(1);
  });

  test("is tried again where it changes something, if it was certainly not sent", async () => {
    const { gateway, calls } = await serve(failOnce(() => closed({ sent: false })));
    expect(readText(await gateway.run({ tool: "s:create_x" }))).toBe("done");
    expect(calls()).toBe(2);
  });

  test("is tried again where an operator has said that it is safe", async () => {
    const operations = { "s:create_x": { retry_safe: true } };
    const { gateway, calls } = await serve(failOnce(closed), { guard: { operations } });
    expect(readText(await gateway.run({ tool: "s:create_x" }))).toBe("done");
    expect(calls()).toBe(2);
  });

  test("is tried again where its server takes a key, and it has one", async () => {
    const operation = {
      method: "POST",
      path: "/",
      auth: "none" as const,
      examples: [],
      errors: [],
      deprecated: false,
      idempotencyHeader: "Idempotency-Key",
      canResend: true,
    };
    const rest: Plugin = {
      name: "rest",
      setup: () => ({ "tool:discover": (tool) => void Object.assign(tool, { operation }) }),
    };
    const meta = { [requestMeta.idempotencyKey]: "key-0001" };
    const first = await serve(failOnce(closed), { plugins: [rest] });
    expect(readText(await first.gateway.run({ tool: "s:create_x", meta }))).toBe("done");
    const second = await serve(failOnce(closed), { plugins: [rest] });
    expect(getError(await second.gateway.run({ tool: "s:create_x" })).code).toBe("OUTCOME_UNKNOWN");
  });

  test("is not tried again because its server reports that it only reads", async () => {
    const run = vi.fn(() => {
      throw closed();
    });
    const tool = {
      name: "zap",
      inputSchema: {},
      annotations: { readOnlyHint: true, idempotentHint: true },
      run,
    };
    const gateway = await createGateway({
      plugins: [retry({ baseMs: 1 }), localTools("s", { id: "s" }, [tool])],
    });
    await gateway.run({ tool: "s:zap" });
    expect(run).toHaveBeenCalledTimes(1);
    await gateway.close();
  });

  test("is not tried again where its server has answered, or asks for a longer delay than allowed", async () => {
    const answers = [
      new GatewayError(defineError("UPSTREAM_ERROR"), "No.", { data: { rpcCode: 1 } }),
      new GatewayError(defineError("RATE_LIMITED", { retry: true }), "Later.", { data: { retry_after: 3 } }),
      new GatewayError(defineError("SPAWN_FAILED"), "There is no such command."),
    ];
    for (const error of answers) {
      const { gateway, calls } = await serve(failOnce(() => error));
      expect(getError(await gateway.run({ tool: "s:get_x" })).code).toBe(error.code);
      expect(calls()).toBe(1);
    }
  });

  test("is tried again as often as is said, and fails with what it failed with last", async () => {
    const { gateway, calls } = await serve(
      (call) => {
        throw closed({ call });
      },
      { retry: { retries: 3, share: 1 } },
    );
    for (let count = 0; count < 2; count++) await gateway.run({ tool: "s:get_x" });
    expect(calls()).toBeLessThanOrEqual(5);
    const never = await serve(
      () => {
        throw closed();
      },
      { retry: { retries: 0 } },
    );
    await never.gateway.run({ tool: "s:get_x" });
    expect(never.calls()).toBe(1);
  });

  test("and is cancelled while it waits is not tried again", async () => {
    const abort = new AbortController();
    const { gateway, calls } = await serve(
      () => {
        setTimeout(() => abort.abort(), 5);
        throw closed({ retryAfterMs: 60_000 });
      },
      { retry: { maxMs: 60_000 } },
    );
    expect(getError(await gateway.run({ tool: "s:get_x", signal: abort.signal })).code).toBe("CANCELLED");
    expect(calls()).toBe(1);
  });
});

describe("a server that does not answer", () => {
  test("is not asked for 30 seconds after five failures in a row; calls of it are refused as not sent", async () => {
    let now = 0;
    let isDown = true;
    const { gateway, calls } = await serve(
      () => {
        if (isDown) throw closed();
        return textResult("up");
      },
      { retry: { retries: 0, now: () => now } },
    );
    const look = { tool: "s:get_x" };
    for (let count = 0; count < 5; count++) await gateway.run(look);
    const charge = { tool: "s:charge", meta: { [requestMeta.idempotencyKey]: "key-0001" } };
    for (const request of [look, charge]) {
      expect(getError(await gateway.run(request))).toMatchObject({
        code: "BREAKER_OPEN",
        data: { server: "s", retryAfterMs: 30_000, sent: false },
      });
    }
    expect(calls()).toBe(5);
    now += 30_000;
    isDown = false;
    // The key was not used up by the refusal.
    expect(readText(await gateway.run(charge))).toBe("up");
    expect(readText(await gateway.run(look))).toBe("up");
  });

  test("counts as failed where it lets calls time out, even if they never come back", async () => {
    const { gateway, calls } = await serve(() => hang(), { plugins: [timeout({ ms: 5 })] });
    for (let count = 0; count < 5; count++) {
      expect(getError(await gateway.run({ tool: "s:get_x" })).code).toBe("TIMEOUT");
    }
    expect(getError(await gateway.run({ tool: "s:get_x" })).code).toBe("BREAKER_OPEN");
    expect(calls()).toBe(5);
  });

  test("does not count as failed where it answers that something is wrong, or a caller gives up", async () => {
    const abort = AbortSignal.abort();
    const { gateway, calls } = await serve((call) =>
      call % 2
        ? { ...textResult("HTTP 404"), isError: true, _meta: { "toolpipe/http-status": 404 } }
        : textResult(""),
    );
    for (let count = 0; count < 10; count++) {
      await gateway.run({ tool: "s:get_x" });
      await gateway.run({ tool: "s:get_x", signal: abort });
    }
    expect(calls()).toBe(10);
  });
});

describe("fault 24: a server of which every second answer is a fault of its own", () => {
  const fault: ToolResult = {
    ...textResult("HTTP 500"),
    isError: true,
    _meta: { "toolpipe/http-status": 500 },
  };

  test("is tried again for at most a fifth of the calls, and only what reads", async () => {
    const { gateway, calls } = await serve((call) => (call % 2 ? fault : textResult("fine")));
    for (let count = 0; count < 100; count++) await gateway.run({ tool: "s:get_x" });
    expect(calls()).toBeGreaterThan(100);
    expect(calls()).toBeLessThanOrEqual(120);
    const before = calls();
    for (let count = 0; count < 10; count++) await gateway.run({ tool: "s:create_x" });
    expect(calls()).toBe(before + 10);
  });

  test("and that then has nothing but faults is left alone after five, but for one probe each time", async () => {
    let now = 0;
    const { gateway, calls } = await serve(() => fault, { retry: { now: () => now, retries: 0 } });
    for (let second = 0; second < 60; second++) {
      await gateway.run({ tool: "s:get_x" });
      now += 1_000;
    }
    // Five until it opens, at second 4; a probe at 34; none after that within the minute.
    expect(calls()).toBe(6);
  });
});

const fixture = fileURLToPath(new URL("./_crashing-mcp.mjs", import.meta.url));

interface Crashing {
  readonly gateway: Gateway;
  /** The processes that were called, one for each call that reached the server. */
  called(): Promise<string[]>;
  /** How the calls ended, as the audit has it. */
  outcomes(): string[];
}

/** A real server whose process ends in the middle of the first calls of its tool. */
async function crashing(tool: string, crashes: number): Promise<Crashing> {
  const sink = memorySink();
  const folder = await temporaryFolder({ called: "" });
  const file = join(folder, "called");
  const runtime = "Deno" in globalThis ? ["run", "-A"] : [];
  const server = { command: process.execPath, args: [...runtime, fixture, file, String(crashes), tool] };
  const gateway = await openGateway({
    plugins: [
      state({ folder: join(folder, "state") }),
      approvals(),
      audit({ sink }),
      sources({ sources: [], mcpServers: { crashing: server } }),
      guard(),
      retry(),
      mcp(),
      upstreams({ discover: "none" }),
    ],
  });
  await gateway.services.servers?.refresh();
  return {
    gateway,
    called: async () => (await readFile(file, "utf8")).split("\n").filter((line) => line !== ""),
    outcomes: () =>
      sink.records.map(({ outcome }) => String(outcome)).filter((outcome) => outcome !== "pending"),
  };
}

describe("a process that crashes in the middle of a call", () => {
  test("fault 1: retries a read-only call once, on a new process", async () => {
    const { gateway, called, outcomes } = await crashing("get_x", 1);
    expect(readText(await gateway.run({ tool: "crashing:get_x" }))).toBe("survived");
    expect(new Set(await called()).size).toBe(2);
    expect(outcomes()).toEqual(["ok"]);
  });

  test("fault 1: and where that crashes too, it fails without trying further", async () => {
    const { gateway, called, outcomes } = await crashing("get_x", 9);
    const call = await gateway.run({ tool: "crashing:get_x" });
    expect(getError(call).code).toBe("UPSTREAM_CLOSED");
    expect(await called()).toHaveLength(2);
    expect(outcomes()).toEqual(["UPSTREAM_CLOSED"]);
  });

  test("fault 2: does not retry a call that changes something, and reports its outcome as unknown", async () => {
    const { gateway, called, outcomes } = await crashing("charge", 1);
    const request = { tool: "crashing:charge", meta: { [requestMeta.idempotencyKey]: "key-0001" } };
    for (let count = 0; count < 3; count++) {
      expect(getError(await gateway.run(request)).code).toBe("OUTCOME_UNKNOWN");
    }
    expect(await called()).toHaveLength(1);
    expect(new Set(outcomes())).toEqual(new Set(["OUTCOME_UNKNOWN"]));
  });
});
