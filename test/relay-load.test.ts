import { Buffer } from "node:buffer";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { JsonObject, Preset } from "../core/mod.ts";
import { guard } from "../plugins/guard/mod.ts";
import { retry } from "../plugins/retry/mod.ts";
import { anygpt } from "../presets/anygpt/mod.ts";
import { passthrough } from "../presets/passthrough.ts";
import { fixtureServer, openClient, readText, type TestClient } from "./presets/_passthrough.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { until } from "./support/until.ts";

const TIMEOUT_MS = 120_000;
const CALLERS = Array.from({ length: 32 }, (_, caller) => caller);
const loadServer = fileURLToPath(new URL("./fixtures/load-server.mjs", import.meta.url));

/** Calls a tool of the server "load". */
type CallTool = (name: string, text?: string, onProgress?: (step: number) => void) => Promise<JsonObject>;

interface Loaded {
  readonly client: TestClient;
  readonly call: CallTool;
  /** The work that the server has begun, in order. */
  done(): Promise<readonly string[]>;
  /** Ends its process from outside. */
  kill(): Promise<void>;
}

type More = Partial<Parameters<typeof openClient>[1]>;

async function loaded(preset: Preset, { servers, ...more }: More = {}): Promise<Loaded> {
  const file = join(await temporaryFolder(), "work.txt");
  await writeFile(file, "");
  const load = fixtureServer(loadServer, file);
  const client = await openClient("v2 legacy", { preset, servers: { load, ...servers }, ...more });
  const call: CallTool = (tool, text = "", onProgress) => {
    const plain = { name: tool, arguments: { text } };
    const wrapped = { name: "execute_tool", arguments: { server: "load", tool, arguments: { text } } };
    return client.request("tools/call", preset === passthrough ? plain : wrapped, onProgress);
  };
  return {
    client,
    call,
    done: async () => (await readFile(file, "utf8")).split("\n").filter((line) => line !== ""),
    kill: async () => void process.kill(Number(readText(await call("pid"))), "SIGKILL"),
  };
}

/** The code of a failure, or nothing where the call went well. */
function readCode(result: JsonObject): string | undefined {
  if (result["isError"] !== true) return undefined;
  return (JSON.parse(readText(result)) as { error: { code: string } }).error.code;
}

describe.each([
  ["passthrough", passthrough],
  ["anygpt", anygpt],
] as const)("32 callers at once of the preset %s", (_name, preset) => {
  test("each get their own answers", { timeout: TIMEOUT_MS }, async () => {
    const { call } = await loaded(preset);
    await Promise.all(
      CALLERS.map(async (caller) => {
        for (let round = 0; round < 10; round++) {
          const text = `caller ${caller}, round ${round}`;
          expect(readText(await call("echo", text))).toBe(text);
        }
      }),
    );
  });

  test("get images, structured content, failures and progress as the server gave them", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { call } = await loaded(preset, { options: { upstreams: { concurrency: 2 * CALLERS.length } } });
    await Promise.all(
      CALLERS.map(async (caller) => {
        const text = `caller ${caller}`;
        const steps: number[] = [];
        const rich = call("rich", text, (step) => void steps.push(step));
        // A client that reads the answer at once with the progress before it forgets to tell of the progress.
        await until(() => steps.length === 3, TIMEOUT_MS);
        await call("release", text);
        const result = await rich;
        expect(result).toMatchObject({
          content: [
            { type: "text", text, annotations: { audience: ["user"], priority: 0.5 } },
            { type: "image", data: Buffer.from(text).toString("base64"), mimeType: "image/png" },
          ],
          structuredContent: { text, nested: { list: [1, null, "é"] } },
          isError: text.endsWith("1"),
          _meta: { "example.com/of": text },
        });
        expect(steps).toEqual([1, 2, 3]);
      }),
    );
  });

  test("whose server is killed: nothing runs twice, pending calls are reported as unknown, and new calls work", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { call, done, kill } = await loaded(preset);
    const outcomes = new Map<string, string | undefined>();
    let kills = 0;
    const lane = async (caller: number): Promise<void> => {
      for (let round = 0; round < 5 || kills < 3; round++) {
        const text = `caller ${caller}, round ${round}`;
        outcomes.set(text, readCode(await call("note", text)));
      }
    };
    const killer = async (): Promise<void> => {
      for (; kills < 3; kills++) {
        const text = `held ${kills}`;
        const held = call("work", text);
        await until(async () => (await done()).includes(text), TIMEOUT_MS);
        await kill();
        outcomes.set(text, readCode(await held));
        expect(outcomes.get(text)).toBe("OUTCOME_UNKNOWN");
        // The next call does not wait for anything but the start of another process.
        expect(readText(await call("echo", text))).toBe(text);
      }
    };
    await Promise.all([killer(), ...CALLERS.map(lane)]);

    const times = new Map<string, number>();
    for (const text of await done()) times.set(text, (times.get(text) ?? 0) + 1);
    expect([...times].filter(([, count]) => count > 1)).toEqual([]);
    const answered = [...outcomes].filter(([, code]) => code === undefined).map(([text]) => text);
    expect(answered.filter((text) => !times.has(text))).toEqual([]);
    expect(answered.length).toBeGreaterThan(CALLERS.length);
    const failed = [...outcomes.values()].filter((code) => code !== undefined);
    expect(new Set(failed)).toEqual(new Set(["OUTCOME_UNKNOWN"]));
  });

  test("whose server is killed: read-only calls by policy run again, and no other call does", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const operations = {
      "load:lookup": { risk_level: "low" as const },
      "load:pid": { risk_level: "low" as const },
      "load:work": { risk_level: "medium" as const },
    };
    const { call, done, kill } = await loaded(preset, {
      plugins: [guard({ operations }), retry({ share: 1 })],
      options: { upstreams: { concurrency: CALLERS.length + 1 } },
    });
    const calls = CALLERS.map((caller) => {
      const name = caller % 2 === 0 ? "lookup" : "work";
      return { name, text: `${name} ${caller}`, result: call(name, `${name} ${caller}`) };
    });
    const results = Promise.all(calls.map(({ result }) => result));
    await until(async () => (await done()).length === CALLERS.length, TIMEOUT_MS);
    await Promise.all([kill(), results]);
    for (const [index, result] of (await results).entries()) {
      const { name, text } = calls[index] as (typeof calls)[number];
      if (name === "lookup") expect(readText(result)).toBe(text);
      else expect(readCode(result)).toBe("OUTCOME_UNKNOWN");
    }
    const twice = calls.filter(({ name }) => name === "lookup");
    expect((await done()).toSorted()).toEqual([...calls, ...twice].map(({ text }) => text).toSorted());
  });

  test("pay nothing for a server that hangs at its start, or one whose command is missing", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const hanging = { ...fixtureServer(loadServer, "-", "hanging"), startTimeoutMs: 10 * TIMEOUT_MS };
    const missing = { command: "toolpipe-no-such-command", args: [] };
    const { call, client } = await loaded(preset, { servers: { hanging, missing }, awaited: "load" });
    await Promise.all(
      CALLERS.map(async (caller) => {
        for (let round = 0; round < 3; round++) {
          const text = `caller ${caller}, round ${round}`;
          expect(readText(await call("echo", text))).toBe(text);
        }
      }),
    );
    const { servers } = client.gateway.services;
    // It is still being waited for: it was given longer than all of this takes.
    expect(servers?.status("hanging")?.listedAt).toBeUndefined();
    expect(servers?.status("hanging")?.status).not.toBe("error");
    await until(() => servers?.status("missing")?.status === "error", TIMEOUT_MS);
    expect(servers?.status("load")).toMatchObject({ status: "connected" });
  });
});
