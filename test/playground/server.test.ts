import { existsSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { ColumnAnswer, Evaluation, EvaluationLine, Overview } from "../../playground/protocol.ts";
import { createWorkerPool } from "../../playground/worker-pool.ts";
import { readTools } from "../../plugins/lib/evaluation.ts";
import { catchFailure } from "../support/failure.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { lines, openPlayground, post, send, someQueries, someTools } from "./_playground.ts";

const keyword = { ranker: "keyword", settings: {} };
const simple = { ranker: "simple", settings: {} };

async function createOverview(url: string): Promise<Overview> {
  return JSON.parse((await send(`${url}api/overview`)).text);
}

async function rank(url: string, request: object): Promise<ColumnAnswer[]> {
  const { status, body } = await post(`${url}api/rank`, { catalog: "tools", columns: [keyword], ...request });
  expect([status, body]).toEqual([200, expect.anything()]);
  return (body as { columns: ColumnAnswer[] }).columns;
}

/** The sentence that a request is refused with. */
async function readRefusal(answer: Promise<{ status: number; body: unknown }>): Promise<[number, string]> {
  const { status, body } = await answer;
  return [status, (body as { error: { message: string } }).error.message];
}

describe("the page", () => {
  test("consists of files that load nothing from elsewhere and hold no script of their own", async () => {
    const { url } = await openPlayground();
    const page = await send(url);
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(page.text).not.toMatch(/<script(?![^>]*src=)|\son\w+=|style="|https?:/);
    const files = [...page.text.matchAll(/(?:href|src)="(?!#)([^"]+)"/g)].map(([, file = ""]) => file);
    expect(files).toContain("app.js");
    for (const file of files) expect([file, (await send(url + file)).status]).toEqual([file, 200]);
    expect((await send(`${url}uplot.js`)).text).toContain("uPlot");
  });

  test("is served with headers that would stop a script in a description", async () => {
    const { url } = await openPlayground();
    for (const path of ["", "app.js", "api/overview", "nowhere"]) {
      const { headers } = await send(url + path);
      expect(headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self';");
      expect(headers["content-security-policy"]).not.toContain("unsafe");
      expect(headers["x-content-type-options"]).toBe("nosniff");
    }
  });

  test.each([
    "..%2fserver.ts",
    "../server.ts",
    "tsconfig.json",
    "uplot.d.ts",
    "app.js/",
    "%00",
    "style.css%00.js",
  ])("has nothing else to give, not even %s", async (path) => {
    const { url } = await openPlayground();
    expect((await send(url + path)).status).toBe(404);
  });
});

describe("a stranger", () => {
  test.each([
    ["another host", { host: "evil.example" }],
    ["another port of this host", { host: "127.0.0.1:1" }],
    ["another origin", { origin: "https://evil.example" }],
    ["another page of this machine", { origin: "http://127.0.0.1:1" }],
    ["no origin to speak of", { origin: "null" }],
  ])("is refused: %s", async (_who, headers) => {
    const { url } = await openPlayground();
    for (const path of ["", "api/overview"]) {
      const { status, text } = await send(url + path, { headers: headers as Record<string, string> });
      expect([status, JSON.parse(text).error.message]).toEqual([
        403,
        expect.stringMatching(/^Requests .*\.$/),
      ]);
    }
  });

  test("cannot send what a page may send without asking first", async () => {
    const { url } = await openPlayground();
    const headers = { "content-type": "text/plain" };
    const { status } = await send(`${url}api/rank`, { method: "POST", headers, body: "{}" });
    expect(status).toBe(415);
    expect((await send(`${url}api/overview`, { method: "DELETE" })).status).toBe(405);
  });
});

describe("ranking", () => {
  test("shows rankers side by side, with the shares of words and fields", async () => {
    const { url } = await openPlayground();
    const [first, second] = await rank(url, { query: "read file", columns: [keyword, simple] });
    expect(first?.hits[0]).toMatchObject({ id: "files:read_file", name: "read_file", server: "files" });
    expect(first?.hits[0]?.shares).toHaveProperty("keyword");
    expect(first?.hits[0]?.terms).toContainEqual(
      expect.objectContaining({ field: "name", share: expect.any(Number) }),
    );
    expect(second?.hits[0]?.id).toBe("files:read_file");
    for (const answer of [first, second]) expect(answer?.tokens).toBeGreaterThan(10);
  });

  test("tries a ranker of your own beside the others", async () => {
    const folder = await temporaryFolder({
      "mine.mjs": `export default () => {
        let all = [];
        return {
          name: "mine",
          update: (server, tools) => void (all = all.concat(tools)),
          rank: () => ({ hits: all.map((tool) => ({ tool, relevance: 0.5 })), nearest: [] }),
        };
      };`,
    });
    const path = `${folder}/mine.mjs`;
    const { url } = await openPlayground({ rankers: [path] });
    const { rankers } = await createOverview(url);
    expect(rankers.at(-1)).toMatchObject({ name: path, settings: [] });
    const [mine] = await rank(url, { query: "read file", columns: [{ ranker: path, settings: {} }] });
    expect(mine?.error).toBeUndefined();
    expect(mine?.hits).toHaveLength(4);
  });

  test("changes with the settings", async () => {
    const { url } = await openPlayground();
    const { rankers } = await createOverview(url);
    const weights = rankers.find(({ name }) => name === "keyword")?.settings ?? [];
    const none = weights.filter(({ group, label }) => group === "Weights" && label !== "Server");
    const onlyServer = Object.fromEntries(none.map(({ path }) => [path, 0]));
    const columns = [keyword, { ranker: "keyword", settings: onlyServer }];
    const [usual, changed] = await rank(url, { query: "changed the disk of git", columns });
    expect(usual?.hits.map(({ id }) => id)).toContain("files:read_file");
    expect(changed?.hits.map(({ id }) => id)).toEqual(["git:log"]);
  });

  test("answers malformed queries with an error", async () => {
    const { url } = await openPlayground();
    for (const query of ["", "\u0000", "\ud800", "__proto__", "a".repeat(50_000)]) {
      expect(await rank(url, { query })).toHaveLength(1);
    }
  });

  test.each<[string, object, string]>([
    [
      "a ranker that is not there",
      { columns: [{ ranker: "nope", settings: {} }] },
      "There is no such ranker.",
    ],
    ["a ranker of every object", { columns: [{ ranker: "constructor", settings: {} }] }, "There is no such"],
    [
      "a setting that is not there",
      { columns: [{ ranker: "keyword", settings: { "__proto__.x": 1 } }] },
      "This ranker has no such setting",
    ],
    [
      "a setting out of bounds",
      { columns: [{ ranker: "keyword", settings: { "keyword.k1": 99 } }] },
      "This ranker has no such setting, or not with such a value.",
    ],
    ["too many rankers", { columns: Array(5).fill(simple) }, "At most 4 rankers can be compared."],
    ["a query too long", { query: "a".repeat(100_001) }, "The query is too long."],
    ["another catalog", { catalog: "nope" }, 'There is no catalog "nope".'],
    ["something else", { also: true }, "This request cannot be answered"],
  ])("is refused with a sentence: %s", async (_what, part, sentence) => {
    const { url } = await openPlayground();
    const request = { catalog: "tools", query: "file", columns: [keyword], ...part };
    const [status, message] = await readRefusal(post(`${url}api/rank`, request));
    expect(status).toBe(400);
    expect(message).toContain(sentence);
  });
});

describe("files", () => {
  test("of tools and of queries can be uploaded, and replace those of equal names", async () => {
    const { url } = await openPlayground();
    const text = lines([{ server: "mail", name: "send_mail", description: "Sends a mail." }]);
    const sent = await post(`${url}api/catalogs`, { name: "own.jsonl", text });
    expect(sent.body).toEqual({ id: "file:own.jsonl", label: "own.jsonl", tools: 1, servers: 1 });
    const catalog = "file:own.jsonl";
    expect((await rank(url, { catalog, query: "mail" }))[0]?.hits[0]?.id).toBe("mail:send_mail");
    await post(`${url}api/catalogs`, { name: "own.jsonl", text: lines(someTools) });
    expect((await rank(url, { catalog, query: "send_mail" }))[0]?.hits).toEqual([]);
    const set = await post(`${url}api/sets`, { name: "own.jsonl", text: lines(someQueries) });
    expect(set.body).toEqual({ id: "file:own.jsonl", label: "own.jsonl", queries: 3 });
    const { catalogs, sets } = await createOverview(url);
    expect(catalogs.filter(({ id }) => id === catalog)).toHaveLength(1);
    expect(sets.map(({ id }) => id)).toContain("file:own.jsonl");
  });

  test.each([
    ["catalogs", "{}", "x.jsonl:1: name: expected a value, found nothing."],
    ["catalogs", `{"name":"a"}\n\n[`, "x.jsonl:3: this is not JSON."],
    ["catalogs", "5", "x.jsonl:1: the line: expected Object, found 5."],
    ["catalogs", `{"name":"a","server":7}`, "x.jsonl:1: server: expected string, found 7."],
    ["catalogs", "\n", "x.jsonl: the file is empty."],
    ["sets", `{"relevant":[]}`, "x.jsonl:1: query: expected a value, found nothing."],
    ["sets", `{"query":"a","relevant":"b"}`, "x.jsonl:1: relevant: expected Array, found a string."],
    ["sets", "", "x.jsonl: the file is empty."],
  ])("that are wrong are refused by line: %s %s", async (where, text, sentence) => {
    const { url } = await openPlayground();
    expect(await readRefusal(post(`${url}api/${where}`, { name: "x.jsonl", text }))).toEqual([400, sentence]);
  });

  test("that are too large are not even read", async () => {
    const { url } = await openPlayground({ uploadBytes: 1_000 });
    const upload = { name: "x.jsonl", text: "x".repeat(2_000) };
    expect(await readRefusal(post(`${url}api/catalogs`, upload))).toEqual([
      413,
      "A message may have 1000 bytes at most.",
    ]);
  });

  test("that were named on the command line are checked before anything is served", async () => {
    const folder = await temporaryFolder({ "bad.jsonl": "{}" });
    const missing = await catchFailure(openPlayground({ tools: `${folder}/none.jsonl` }));
    expect(missing.message).toBe(`${folder}/none.jsonl: cannot be read (ENOENT).`);
    const wrong = await catchFailure(openPlayground({ queries: `${folder}/bad.jsonl` }));
    expect(wrong.message).toBe("bad.jsonl:1: query: expected a value, found nothing.");
  });
});

describe("the catalogs", () => {
  test("are the file, the demo with its labeled queries, and the servers of the user", async () => {
    const { url } = await openPlayground({
      live: async () => readTools(lines(someTools.slice(0, 1)), "live"),
    });
    const { catalogs, sets } = await createOverview(url);
    expect(catalogs.map(({ id }) => id)).toEqual(["tools", "demo", "live"]);
    expect(sets.find(({ id }) => id === "demo")).toMatchObject({ catalog: "demo" });
    expect(sets.find(({ id }) => id === "demo")?.queries).toBeGreaterThan(150);
    expect((await post(`${url}api/open`, { catalog: "live" })).body).toMatchObject({ tools: 1, servers: 1 });
  });

  test("of the servers is read again where that is asked for, and tried again where it failed", async () => {
    const asked: boolean[] = [];
    const { url } = await openPlayground({
      live: async (ask) => {
        asked.push(ask);
        if (asked.length === 1) throw new Error("not yet");
        return readTools(lines(someTools.slice(0, asked.length)), "live");
      },
    });
    expect((await post(`${url}api/open`, { catalog: "live" })).status).toBe(500);
    expect((await post(`${url}api/open`, { catalog: "live" })).body).toMatchObject({ tools: 2 });
    expect((await post(`${url}api/open`, { catalog: "live" })).body).toMatchObject({ tools: 2 });
    expect((await post(`${url}api/renew`, { catalog: "live" })).body).toMatchObject({ tools: 3 });
    expect(asked).toEqual([false, false, true]);
  });
});

describe("an evaluation", () => {
  async function evaluate(url: string, request: object = {}): Promise<EvaluationLine[]> {
    const { status, text } = await send(`${url}api/evaluate`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ catalog: "tools", set: "queries", columns: [keyword, simple], ...request }),
    });
    expect(status).toBe(200);
    return text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  }

  test("tells how far it is, and then how each ranker did on each query", async () => {
    const { url } = await openPlayground();
    const told = await evaluate(url);
    const progress = told.flatMap((line) => ("progress" in line ? [line.progress] : []));
    expect(progress.map(({ ranker }) => ranker)).toContain("simple");
    expect(progress.at(-1)).toEqual({ column: 1, ranker: "simple", done: 3, total: 3 });
    const { queries, strangers, columns } = (told.at(-1) as { result: Evaluation }).result;
    expect(queries).toEqual(someQueries);
    expect(strangers).toBe(0);
    const [first] = columns;
    expect(first?.recall[0]).toBe(1);
    expect(first?.recall).toHaveLength(20);
    expect(first?.ndcg[9]).toBe(1);
    expect(first).toMatchObject({ mrr: 1, silent: 1, column: keyword });
    expect(first?.outcomes.map(({ rank: place }) => place)).toEqual([1, 1, 0]);
    for (const { latency, tokens } of columns) {
      for (const { histogram } of [latency, tokens]) {
        expect(histogram.edges).toHaveLength(histogram.counts.length + 1);
        expect(histogram.counts.reduce((sum, count) => sum + count, 0)).toBe(3);
      }
    }
  });

  test("counts labels of missing tools", async () => {
    const { url } = await openPlayground();
    const text = lines([{ query: "read file", relevant: ["elsewhere:read_file", "files:read_file"] }]);
    await post(`${url}api/sets`, { name: "other.jsonl", text });
    const told = await evaluate(url, { set: "file:other.jsonl", columns: [keyword] });
    const { strangers, columns } = (told.at(-1) as { result: Evaluation }).result;
    expect(strangers).toBe(1);
    expect(columns[0]?.recall[9]).toBe(0.5);
  });

  test("of a set that is not there is refused", async () => {
    const { url } = await openPlayground();
    const request = { catalog: "tools", set: "nope", columns: [keyword] };
    const refused = await readRefusal(post(`${url}api/evaluate`, request));
    expect(refused).toEqual([400, 'There is no labelled set "nope". Load the page again.']);
  });

  test("ends at once when it is cancelled, and ranking goes on meanwhile and afterwards", async () => {
    const pool = createWorkerPool(readTools(lines(someTools), "tools.jsonl"));
    const queries = Array.from({ length: 100_000 }, () => ({ query: "read file", relevant: ["git:log"] }));
    const cancelled = new AbortController();
    const told: number[] = [];
    const evaluation = catchFailure(
      pool.evaluate({ queries, columns: [simple] }, ({ done }) => told.push(done), cancelled.signal),
    );
    await expect.poll(() => told.some((done) => done > 0), { timeout: 15_000 }).toBe(true);
    const ask = async (): Promise<unknown> =>
      (await pool.rank({ query: "now", columns: [simple] }))[0]?.hits[0];
    expect(await ask()).toMatchObject({ id: "time:now" });
    cancelled.abort();
    expect((await evaluation).message).toBe("The evaluation was cancelled.");
    const count = told.length;
    expect(await ask()).toMatchObject({ id: "time:now" });
    expect(told).toHaveLength(count);
    expect(told.at(-1)).toBeLessThan(queries.length);
    await pool.close();
    expect(
      (await catchFailure(pool.evaluate({ queries: [], columns: [] }, () => {}, AbortSignal.abort()))).code,
    ).toBe("CLOSED");
  });

  test.skipIf(!existsSync("/proc/self/task"))("ends its thread when the page is gone", async () => {
    const { url } = await openPlayground();
    const text = lines(Array.from({ length: 50_000 }, () => ({ query: "read file" })));
    await post(`${url}api/sets`, { name: "many.jsonl", text });
    const threads = (): number => readdirSync("/proc/self/task").length;
    const before = threads();
    const gone = new AbortController();
    const response = await fetch(`${url}api/evaluate`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ catalog: "tools", set: "file:many.jsonl", columns: [simple] }),
      signal: gone.signal,
    });
    expect((await response.body?.getReader().read())?.done).toBe(false);
    expect(threads()).toBeGreaterThan(before);
    gone.abort();
    await expect.poll(threads, { timeout: 10_000 }).toBeLessThanOrEqual(before);
  });
});
