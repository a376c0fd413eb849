import * as v from "valibot";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { GatewayError, Tool } from "../../../core/mod.ts";
import type { Embedder } from "../../../core/services/search.ts";
import { fileStorage } from "../../../plugins/lib/files.ts";
import { openaiEmbedder } from "../../../plugins/search/embedding/openai.ts";
import { embeddingRanker, embeddingScorer } from "../../../plugins/search/embedding/ranker.ts";
import { staticEmbedder } from "../../../plugins/search/embedding/static.ts";
import { searchOptions } from "../../../plugins/search/options.ts";
import type { QueryScores } from "../../../plugins/search/scorer.ts";
import { take, testRanker, tool } from "../../contracts/ranker.ts";
import { createTestCache } from "../../support/services.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { embeddingsServer, status } from "./_embeddings-server.ts";

testRanker("embedding", embeddingRanker, { byMeaning: true });

const tools: readonly Tool[] = [
  tool("files:read_file", "Reads a file."),
  tool("files:make_folder", "Creates a directory."),
  tool("mail:send_mail", "Sends an e-mail to a person."),
  tool("weather:forecast", "Gets the weather forecast of a city."),
];

/** An embedder that waits until it is let go on. */
function slow(): { embedder: Embedder; release: () => void; asked: () => number } {
  const own = staticEmbedder();
  let release = (): void => {};
  let asked = 0;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const embedder: Embedder = {
    name: "slow",
    dimensions: own.dimensions,
    hash: "slow",
    embedQueries: async (texts) => {
      asked++;
      return own.embedQueries(texts);
    },
    embedTools: (each) => gate.then(() => own.embedTools(each)),
  };
  return { embedder, release, asked: () => asked };
}

const listIds = (asked: QueryScores, count = 10): readonly string[] =>
  asked.best(count).map((each) => each.tool.id);

describe("the scorer of meaning", () => {
  test("finds tools that have no word of the query", async () => {
    const scorer = embeddingScorer();
    for (const each of tools)
      scorer.update(
        each.server,
        tools.filter(({ server }) => server === each.server),
      );
    expect(listIds(await scorer.query("will it rain tomorrow"))[0]).toBe("weather:forecast");
    expect(listIds(await scorer.query("write a message to my boss"))[0]).toBe("mail:send_mail");
  });

  test("scores each tool as it ranks it, and a tool that it does not know 0", async () => {
    const scorer = embeddingScorer();
    scorer.update("files", tools.slice(0, 2));
    const asked = await scorer.query("open a file");
    for (const { tool: each, score } of asked.best(10)) {
      expect(asked.score(each)).toBe(score);
      expect(asked.features(each)).toEqual({ cosine: score });
    }
    expect(asked.score(tools[3] as Tool)).toBe(0);
    expect(asked.features(tools[3] as Tool)).toEqual({ cosine: 0 });
    expect(asked.terms(tools[3] as Tool)).toEqual([]);
  });

  test("tells which words of the query speak for a tool, the weightiest first", async () => {
    const scorer = embeddingScorer();
    scorer.update("weather", tools.slice(3));
    const terms = (await scorer.query("weather in a city, please")).terms(tools[3] as Tool);
    expect(terms[0]).toEqual({ term: "weather", field: "meaning", share: expect.closeTo(0.5, 0) });
    expect(terms.map(({ share }) => share)).toEqual(
      terms.map(({ share }) => share).toSorted((a, b) => b - a),
    );
  });

  test("gives the same scores after tools came and went as if they had never been there", async () => {
    const [one, other] = [embeddingScorer(), embeddingScorer()];
    one.update("mail", tools.slice(2, 3));
    one.update("files", tools.slice(0, 1));
    one.update("files", tools.slice(0, 2));
    one.update("mail", []);
    other.update("files", tools.slice(0, 2));
    expect((await one.query("a folder for files")).best(10)).toEqual(
      (await other.query("a folder for files")).best(10),
    );
  });
});

describe("an embedder that takes its time", () => {
  test("is not waited for with the catalog, and not asked for queries before", async () => {
    const { embedder, release, asked } = slow();
    const ranker = embeddingRanker({ embedder });
    take(ranker, tools);
    expect(await ranker.rank("read a file")).toEqual({ hits: [], nearest: [] });
    expect(asked()).toBe(0);
    release();
    await vi.waitFor(async () => expect((await ranker.rank("read a file")).hits).not.toEqual([]));
    const { hits } = await ranker.rank("read a file");
    expect(hits[0]?.tool.id).toBe("files:read_file");
    await vi.waitFor(async () =>
      expect((await ranker.rank("weather forecast")).hits[0]?.tool.id).toBe("weather:forecast"),
    );
  });

  test("is asked once for a query that is asked again", async () => {
    const { embedder, release, asked } = slow();
    const ranker = embeddingRanker({ embedder });
    take(ranker, tools.slice(0, 1));
    release();
    await vi.waitFor(async () => expect((await ranker.rank("read a file")).hits).toHaveLength(1));
    const before = asked();
    await ranker.rank("read a file");
    await ranker.rank("read another file");
    expect(asked()).toBe(before + 1);
  });

  test("does not embed tools that are gone", async () => {
    const { embedder, release } = slow();
    const scorer = embeddingScorer({ embedder });
    scorer.update("files", tools.slice(0, 2));
    scorer.update("files", tools.slice(1, 2));
    release();
    await vi.waitFor(async () => expect(listIds(await scorer.query("read a file"))).not.toEqual([]));
    expect(listIds(await scorer.query("read a file"))).not.toContain("files:read_file");
  });
});

describe("an endpoint as embedder", () => {
  const made = async () => {
    const server = await embeddingsServer();
    const warnings: GatewayError[] = [];
    const embedder = openaiEmbedder({ type: "openai", url: server.url, model: "letters" }, {});
    const onTrouble = (error: GatewayError): void => void warnings.push(error);
    return { server, warnings, embedder, onTrouble };
  };
  const clock = (): void => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
  };

  test("ranks by its vectors", async () => {
    const { warnings, embedder, onTrouble } = await made();
    const ranker = embeddingRanker({ embedder, onTrouble });
    take(ranker, tools);
    // The first request loads the HTTP client.
    await vi.waitFor(
      async () =>
        expect((await ranker.rank("weather forecast of a city")).hits[0]?.tool.id).toBe("weather:forecast"),
      { timeout: 10_000 },
    );
    expect(warnings).toEqual([]);
  });

  test("is told of once when it fails, is left alone for a while, and then works", async () => {
    clock();
    const { server, warnings, embedder, onTrouble } = await made();
    server.faults.push(status(401), status(401));
    const ranker = embeddingRanker({ embedder, onTrouble });
    take(ranker, tools);
    await vi.waitFor(() => expect(warnings).toHaveLength(1));
    expect(warnings[0]?.message).toBe(
      'The embedder "openai letters" cannot be used: the endpoint answered HTTP 401. Search goes on without it.',
    );
    expect(await ranker.rank("read a file")).toEqual({ hits: [], nearest: [] });
    expect(server.requests).toHaveLength(1);
    vi.setSystemTime(Date.now() + 31_000);
    await ranker.rank("read a file");
    await vi.waitFor(() => expect(server.requests).toHaveLength(2));
    await vi.waitFor(() => expect(server.faults).toEqual([]));
    await vi.waitFor(async () => {
      vi.setSystemTime(Date.now() + 31_000);
      expect((await ranker.rank("read a file")).hits[0]?.tool.id).toBe("files:read_file");
    });
    expect(warnings).toHaveLength(1);
  });

  test("that is broken for a query leaves the search without it, and is reported", async () => {
    const { server, warnings, embedder, onTrouble } = await made();
    const scorer = embeddingScorer({ embedder, onTrouble });
    scorer.update("files", tools.slice(0, 2));
    await vi.waitFor(async () => expect(listIds(await scorer.query("a file"))).not.toEqual([]));
    server.faults.push((response) => void response.end("{"));
    const asked = await scorer.query("another file");
    expect([asked.best(10), asked.score(tools[0] as Tool), warnings.length]).toEqual([[], 0, 1]);
    expect(asked.features(tools[0] as Tool)).toEqual({ cosine: 0 });
    // The vector of an earlier query is still cached.
    expect(listIds(await scorer.query("a file"))).not.toEqual([]);
  });

  test("that changes the length of its vectors is not believed", async () => {
    const { server, warnings, embedder, onTrouble } = await made();
    const scorer = embeddingScorer({ embedder, onTrouble });
    scorer.update("files", tools.slice(0, 2));
    await vi.waitFor(async () => expect(listIds(await scorer.query("a file"))).not.toEqual([]));
    server.change = (data) => data.map((each) => ({ ...each, embedding: [1, 2, 3] }));
    expect(listIds(await scorer.query("another file"))).toEqual([]);
    expect(warnings[0]?.message).toContain("a vector of 3 numbers in place of 64");
  });

  test("is asked for each tool once, also by the next process", async () => {
    const { server, onTrouble, warnings } = await made();
    const folder = await temporaryFolder();
    const open = async () => {
      const storage = fileStorage(folder);
      const cache = createTestCache({ storage });
      const embedder = openaiEmbedder({ type: "openai", url: server.url, model: "letters" }, {});
      return embeddingRanker({ embedder, cache, onTrouble });
    };
    const inputs = (): readonly string[] => server.requests.flatMap(({ body }) => body["input"] as string[]);
    const first = await open();
    take(first, tools);
    await vi.waitFor(async () =>
      expect((await first.rank("e-mail")).hits[0]?.tool.id).toBe("mail:send_mail"),
    );
    await vi.waitFor(async () => expect(await fileStorage(folder).getKeys()).toHaveLength(3));
    const expected = (await first.rank("reads a file", { limit: 4 })).hits;

    const before = inputs().length;
    const second = await open();
    const copies = tools.map((each) => ({
      ...each,
      ...(each.name === "forecast" && { description: "Tells if it rains." }),
    }));
    take(second, copies);
    await vi.waitFor(async () =>
      expect((await second.rank("rains")).hits[0]?.tool.id).toBe("weather:forecast"),
    );
    const hits = (await second.rank("reads a file", { limit: 4 })).hits;
    expect(hits[0]).toEqual({ ...expected[0], tool: copies[0] });
    const asked = inputs()
      .slice(before)
      .filter((text) => text.includes(": "));
    expect(asked).toEqual(["weather forecast: Tells if it rains."]);
    expect(warnings).toEqual([]);
  });
});

describe("the options of the scorer of meaning", () => {
  test.each<[unknown]>([
    [{}],
    [{ embedder: "static" }],
    [{ embedder: { type: "openai", model: "text-embedding-3-small", apiKeyEnv: "OPENAI_API_KEY" } }],
    [{ embedder: { type: "openai", url: "http://127.0.0.1:11434/v1", model: "nomic-embed-text" } }],
    [{ embedder: { type: "transformers", model: "Xenova/all-MiniLM-L6-v2" } }],
    [{ embedder: staticEmbedder() }],
  ])("take %j", (options) => {
    expect(v.safeParse(searchOptions, { embedding: options }).success).toBe(true);
  });

  test.each<[unknown]>([
    [{ embedder: "openai" }],
    [{ embedder: { type: "openai" } }],
    [{ embedder: { type: "openai", model: "m", apiKey: "sk-1" } }],
    [{ embedder: { type: "openai", model: "m", url: "file:///etc/passwd" } }],
    [{ embedder: { type: "transformers" } }],
    [{ embedder: null }],
    [{ model: "m" }],
  ])("refuse %j", (options) => {
    expect(v.safeParse(searchOptions, { embedding: options }).success).toBe(false);
  });
});
