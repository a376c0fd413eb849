import { dot } from "./_vectors.ts";
import { type Embedder, unavailable } from "./embedder.ts";
import { type Toolvec, toolvec, weightFile } from "./toolvec.ts";

// Weights never change, and several rankers in one process would each read and hold them.
const models = new Map<string, Toolvec>();

/** The model that comes with toolpipe. Its weights are read when they are first needed. */
export function staticEmbedder(file: URL = weightFile): Embedder {
  const read = (isForTools = false): Toolvec => {
    try {
      const model = models.get(file.href) ?? toolvec(file);
      models.set(file.href, model);
      if (isForTools) model.check();
      return model;
    } catch (cause) {
      // A whole one may be put in its place.
      models.get(file.href)?.close();
      models.delete(file.href);
      const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
      throw unavailable("static", `its weight file is ${isMissing ? "missing" : "damaged"}`, cause);
    }
  };
  return {
    name: "static",
    prompt: true,
    get dimensions() {
      return read().dimensions;
    },
    get hash() {
      return read().hash;
    },
    embedQueries: (texts) => texts.map(read().query),
    embedTools: (tools) => tools.map(read(true).tool),
    relevance: (cosine) => read().relevance(cosine),
    explain: (query, vector) =>
      read()
        .shares(query)
        .map(({ word, vector: own }) => ({ word, share: dot(own, vector) })),
  };
}
