import { describe, expect, test } from "vitest";
import { transformersEmbedder } from "../../../plugins/search/embedding/transformers.ts";
import { testEmbedder } from "../../contracts/embedder.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A package that answers as transformers.js does; the real one would download a model. */
const standIn = `
exports.pipeline = async (task, model) => {
  if (task !== "feature-extraction" || model !== "letters") throw new Error("Unauthorized access to file");
  return async (texts, { pooling, normalize }) => {
    if (pooling !== "mean" || normalize !== true) throw new Error("not a vector for each text");
    const data = new Float32Array(texts.length * 64);
    texts.forEach((text, row) => {
      for (const word of ["", ...(text.toLowerCase().match(/[a-z]+/g) ?? [])]) {
        const place = [...word].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 64, 7);
        data[row * 64 + place] += word === "" ? 0.1 : 1;
      }
      const own = data.subarray(row * 64, row * 64 + 64);
      const length = Math.hypot(...own);
      own.forEach((value, index) => { own[index] = value / length; });
    });
    return { dims: [texts.length, 64], data };
  };
};
`;
const installed = (source: string) =>
  temporaryFolder({
    "node_modules/@huggingface/transformers/package.json":
      '{ "name": "@huggingface/transformers", "main": "index.cjs" }',
    "node_modules/@huggingface/transformers/index.cjs": source,
  });

testEmbedder("transformers.js", async () => {
  const folder = await installed(standIn);
  return () => transformersEmbedder({ type: "transformers", model: "letters" }, folder);
});

describe("transformers.js", () => {
  test("reports how to install it where it is not there", async () => {
    const embedder = transformersEmbedder(
      { type: "transformers", model: "letters" },
      await temporaryFolder(),
    );
    await expect(embedder.embedQueries(["x"])).rejects.toThrow('Run "npm install @huggingface/transformers"');
  });

  test("reports that a model cannot be loaded, without words that are not ours", async () => {
    const embedder = transformersEmbedder({ type: "transformers", model: "other" }, await installed(standIn));
    await expect(embedder.embedQueries(["x"])).rejects.toThrow(
      'The embedder "transformers other" cannot be used: transformers.js could not load the model. Search goes on without it.',
    );
  });

  test("reports that the package cannot be loaded", async () => {
    const folder = await installed("throw new Error('no native code here')");
    const embedder = transformersEmbedder({ type: "transformers", model: "letters" }, folder);
    await expect(embedder.embedQueries(["x"])).rejects.toThrow("could not be loaded");
  });

  test("is looked for again after it was not there", async () => {
    const folder = await temporaryFolder();
    const embedder = transformersEmbedder({ type: "transformers", model: "letters" }, folder);
    await expect(embedder.embedQueries(["x"])).rejects.toThrow("is not installed");
    await expect(embedder.embedQueries(["x"])).rejects.toThrow("is not installed");
  });
});
