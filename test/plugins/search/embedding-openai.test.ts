import { describe, expect, test } from "vitest";
import type { GatewayError } from "../../../core/mod.ts";
import { openaiEmbedder } from "../../../plugins/search/embedding/openai.ts";
import { testEmbedder } from "../../contracts/embedder.ts";
import { tool } from "../../contracts/ranker.ts";
import { type EmbeddingsServer, embeddingsServer, type Fault, status } from "./_embeddings-server.ts";

const SECRET = "sk-very-secret";
const createEmbedder = (
  { url }: EmbeddingsServer,
  more: Partial<Parameters<typeof openaiEmbedder>[0]> = {},
) => openaiEmbedder({ type: "openai", url, model: "letters", ...more }, { KEY: SECRET });

testEmbedder("an endpoint", async () => {
  const server = await embeddingsServer();
  return () => createEmbedder(server);
});

describe("an endpoint", () => {
  test("gets strings in batches, with the model and the key", async () => {
    const server = await embeddingsServer();
    const embedder = createEmbedder(server, { apiKeyEnv: "KEY", dimensions: 64 });
    const tools = Array.from({ length: 130 }, (_, index) => tool(`s:t${index}`));
    expect(await embedder.embedTools(tools)).toHaveLength(130);
    expect(server.requests.map(({ body }) => (body["input"] as string[]).length)).toEqual([64, 64, 2]);
    for (const { body, authorization } of server.requests) {
      expect(body).toMatchObject({ model: "letters", encoding_format: "float", dimensions: 64 });
      expect(authorization).toBe(`Bearer ${SECRET}`);
    }
  });

  test("gets no key where none is configured, and the prefix of the model", async () => {
    const server = await embeddingsServer();
    const embedder = createEmbedder(server, {
      queryPrefix: "search_query: ",
      toolPrefix: "search_document: ",
    });
    await embedder.embedQueries(["a file"]);
    await embedder.embedTools([tool("files:readFile", "Reads a file.")]);
    expect(server.requests).toEqual([
      { body: expect.objectContaining({ input: ["search_query: a file"] }), authorization: undefined },
      {
        body: expect.objectContaining({ input: ["search_document: files read File: Reads a file."] }),
        authorization: undefined,
      },
    ]);
  });

  test("may be written with the end of its address", async () => {
    const server = await embeddingsServer();
    await createEmbedder({ ...server, url: `${server.url}/embeddings` }).embedQueries(["x"]);
    await createEmbedder({ ...server, url: `${server.url}/` }).embedQueries(["x"]);
    expect(server.requests).toHaveLength(2);
  });

  test("is sent nothing where its key is not there", async () => {
    const server = await embeddingsServer();
    const embedder = createEmbedder(server, { apiKeyEnv: "NO_KEY" });
    await expect(embedder.embedQueries(["x"])).rejects.toThrow("the variable NO_KEY is not set");
    expect(server.requests).toEqual([]);
  });

  test.each<[string, Fault[]]>([
    ["is asked too often, as late as it says", [status(429, { "retry-after": "0" })]],
    [
      "has a fault of its own that passes",
      [status(503, { "retry-after": "0" }), status(502, { "retry-after": "0" })],
    ],
    ["fails", [status(500, { "retry-after": "0" })]],
    ["hangs up", [(response) => void response.destroy()]],
  ])("is asked again when it %s", async (_what, faults) => {
    const server = await embeddingsServer();
    server.faults.push(...faults);
    expect(await createEmbedder(server).embedQueries(["a file"])).toHaveLength(1);
    expect(server.requests).toHaveLength(faults.length + 1);
  });

  test("is waited for as long as it says", async () => {
    const server = await embeddingsServer();
    server.faults.push(status(429, { "retry-after": "1" }));
    const began = performance.now();
    await createEmbedder(server).embedQueries(["a file"]);
    expect(performance.now() - began).toBeGreaterThan(950);
  });

  test("is not waited for where it wants hours", async () => {
    const server = await embeddingsServer();
    server.faults.push(status(429, { "retry-after": "7200" }));
    await expect(createEmbedder(server).embedQueries(["a file"])).rejects.toThrow("too many requests");
    expect(server.requests).toHaveLength(1);
  });

  test("is abandoned after four attempts", async () => {
    const server = await embeddingsServer();
    server.faults.push(...Array.from({ length: 9 }, () => status(500, { "retry-after": "0" })));
    await expect(createEmbedder(server).embedQueries(["a file"])).rejects.toThrow("HTTP 500");
    expect(server.requests).toHaveLength(4);
  });

  test.each([400, 401, 404])("is not asked again after HTTP %i", async (code) => {
    const server = await embeddingsServer();
    server.faults.push(status(code));
    await expect(createEmbedder(server).embedQueries(["a file"])).rejects.toThrow(`HTTP ${code}`);
    expect(server.requests).toHaveLength(1);
  });

  test("is not waited for longer than it may take", async () => {
    const server = await embeddingsServer();
    server.faults.push(...Array.from({ length: 4 }, (): Fault => () => {}));
    const embedder = createEmbedder(server, { timeoutMs: 50 });
    await expect(embedder.embedQueries(["a file"], AbortSignal.timeout(300))).rejects.toThrow();
  });

  const answered =
    (body: string): Fault =>
    (response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(body);
    };
  const vectors = (...embeddings: unknown[]): string =>
    JSON.stringify({ data: embeddings.map((embedding, index) => ({ index, embedding })) });

  test.each<[string, string, string]>([
    ["half of an answer", vectors([1, 2, 3]).slice(0, -5), "its answer is not JSON"],
    ["something else", "[]", "its answer is not one of the embeddings API"],
    ["vectors that are not numbers", vectors(["a", "b"]), "its answer is not one of the embeddings API"],
    ["numbers that are none", vectors([1, 2]).replace("2", "NaN"), "its answer is not JSON"],
    ["numbers without end", vectors([1, 2]).replace("2", "1e999"), "a vector that points nowhere"],
    ["zeros", vectors([0, 0, 0]), "a vector that points nowhere"],
    ["a vector of nothing", vectors([]), "a vector of 0 numbers"],
    ["too few vectors", vectors(), "0 vectors for 1 texts"],
    ["too many vectors", vectors([1, 2], [1, 2]), "2 vectors for 1 texts"],
  ])("is not believed when it answers with %s", async (_what, body, reason) => {
    const server = await embeddingsServer();
    server.faults.push(answered(body));
    await expect(createEmbedder(server).embedQueries(["a file"])).rejects.toThrow(reason);
  });

  test("is not believed when its vectors have another length than before, or than was asked for", async () => {
    const server = await embeddingsServer();
    const embedder = createEmbedder(server);
    await embedder.embedQueries(["a file"]);
    server.faults.push(answered(vectors([1, 2, 3])));
    await expect(embedder.embedQueries(["a file"])).rejects.toThrow("a vector of 3 numbers in place of 64");
    const choosy = createEmbedder(server, { dimensions: 32 });
    await expect(choosy.embedQueries(["a file"])).rejects.toThrow("a vector of 64 numbers in place of 32");
  });

  test("may leave out the places, and vectors may have any length", async () => {
    const server = await embeddingsServer();
    server.faults.push(answered(JSON.stringify({ data: [{ embedding: [3, 4] }, { embedding: [0, 2] }] })));
    const [first, second] = await createEmbedder(server).embedQueries(["a", "b"]);
    expect([...(first ?? [])].map((value) => value.toFixed(2))).toEqual(["0.60", "0.80"]);
    expect(second).toEqual(Float32Array.from([0, 1]));
  });

  test.each<[string, Fault]>([
    ["a refusal", status(401)],
    ["a fault", answered("{")],
    ["a repeated key", (response) => void response.writeHead(400).end(`bad key ${SECRET}`)],
  ])("keeps its key to itself after %s", async (_what, fault) => {
    const server = await embeddingsServer();
    server.faults.push(fault);
    const embedder = createEmbedder(server, { apiKeyEnv: "KEY" });
    const error = await Promise.resolve(embedder.embedQueries(["x"])).then(
      () => undefined,
      (thrown: GatewayError) => thrown,
    );
    expect(error?.message).toContain("cannot be used");
    expect(JSON.stringify([error, error?.message, String(error?.cause), embedder])).not.toContain(SECRET);
  });
});
