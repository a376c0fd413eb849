import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as v from "valibot";
import type { Embedder } from "../../../core/services/search.ts";
import { transformersOptions } from "../options.ts";
import { checkVectors, embedTexts, unavailable } from "./embedder.ts";

const PACKAGE = "@huggingface/transformers";
const MAX_TEXTS = 16;
const MAX_CHARACTERS = 2_000;

/** The part of the package that is used. */
interface Transformers {
  pipeline(task: "feature-extraction", model: string, options?: object): Promise<Extractor>;
}
type Extractor = (
  texts: string[],
  options: { pooling: "mean"; normalize: boolean },
) => Promise<{ readonly dims: readonly number[]; readonly data: ArrayLike<number> }>;

/** Embeds with transformers.js, which is resolved from this package and then from `folder` upwards. */
export function transformersEmbedder(
  given: v.InferInput<typeof transformersOptions>,
  folder: string = process.cwd(),
): Embedder {
  const { model, queryPrefix, toolPrefix } = v.parse(transformersOptions, { ...given, type: "transformers" });
  const name = `transformers ${model}`;
  let dimensions: number | undefined;
  let loading: Promise<Extractor> | undefined;

  const load = async (): Promise<Extractor> => {
    const { pipeline } = await importTransformers(name, folder);
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
      vectors.push(...checkVectors(name, rows, batch.length, dimensions));
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
    ...embedTexts(embed, { queryPrefix, toolPrefix }),
  };
}

async function importTransformers(name: string, folder: string): Promise<Transformers> {
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
