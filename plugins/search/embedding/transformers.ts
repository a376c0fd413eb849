import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { checkedVectors, type Embedder, unavailable } from "./embedder.ts";
import { textOf } from "./tool-text.ts";

/** A model that transformers.js runs, where the package `@huggingface/transformers` is installed. */
export interface TransformersEmbedderOptions {
  readonly type: "transformers";
  /** The name of a model for sentences, such as "Xenova/all-MiniLM-L6-v2". */
  readonly model: string;
  /** What some models want before a query, such as "query: ". */
  readonly queryPrefix?: string | undefined;
  /** What some models want before a text that is searched, such as "passage: ". */
  readonly toolPrefix?: string | undefined;
}

const PACKAGE = "@huggingface/transformers";
const MAX_TEXTS = 16;
const MAX_CHARACTERS = 2_000;

/** What is used of the package. */
interface Transformers {
  pipeline(task: "feature-extraction", model: string, options?: object): Promise<Extractor>;
}
type Extractor = (
  texts: string[],
  options: { pooling: "mean"; normalize: boolean },
) => Promise<{ readonly dims: readonly number[]; readonly data: ArrayLike<number> }>;

/** Embeds with transformers.js, which is looked for beside us and then from this folder on upwards. */
export function transformersEmbedder(
  { model, queryPrefix = "", toolPrefix = "" }: TransformersEmbedderOptions,
  folder: string = process.cwd(),
): Embedder {
  const name = `transformers ${model}`;
  let dimensions: number | undefined;
  let loading: Promise<Extractor> | undefined;

  const load = async (): Promise<Extractor> => {
    const { pipeline } = await installed(name, folder);
    try {
      return await pipeline("feature-extraction", model, { dtype: "q8" });
    } catch (cause) {
      throw unavailable(name, "transformers.js could not load the model", cause);
    }
  };
  const embed = async (texts: readonly string[], signal?: AbortSignal): Promise<readonly Float32Array[]> => {
    loading ??= load();
    const extract = await loading.catch((thrown: unknown) => {
      // A package may be installed, or a network come back, before the next attempt.
      loading = undefined;
      throw thrown;
    });
    const vectors: Float32Array[] = [];
    for (let from = 0; from < texts.length; from += MAX_TEXTS) {
      signal?.throwIfAborted();
      const batch = texts.slice(from, from + MAX_TEXTS).map((text) => text.slice(0, MAX_CHARACTERS));
      const { dims, data } = await extract(batch, { pooling: "mean", normalize: true });
      const width = dims.at(-1) ?? 0;
      const rows = batch.map((_, row) =>
        Array.from({ length: width }, (_, at) => data[row * width + at] ?? Number.NaN),
      );
      vectors.push(...checkedVectors(name, rows, batch.length, dimensions));
      dimensions ??= vectors[0]?.length;
    }
    return vectors;
  };

  return {
    name,
    get dimensions() {
      return dimensions;
    },
    hash: `${name} ${toolPrefix}`,
    embedQueries: (texts, signal) =>
      embed(
        texts.map((text) => queryPrefix + text),
        signal,
      ),
    embedTools: (tools, signal) =>
      embed(
        tools.map((tool) => toolPrefix + textOf(tool)),
        signal,
      ),
    textOf,
  };
}

async function installed(name: string, folder: string): Promise<Transformers> {
  for (const from of [import.meta.url, pathToFileURL(join(folder, "package.json"))]) {
    let file: string;
    try {
      file = createRequire(from).resolve(PACKAGE);
    } catch {
      continue;
    }
    try {
      return (await import(pathToFileURL(file).href)) as Transformers;
    } catch (cause) {
      throw unavailable(name, `the package ${PACKAGE} could not be loaded`, cause);
    }
  }
  throw unavailable(name, `the package ${PACKAGE} is not installed. Run "npm install ${PACKAGE}"`);
}
