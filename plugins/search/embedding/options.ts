import * as v from "valibot";
import type { Embedder } from "./embedder.ts";
import { type OpenaiEmbedderOptions, openaiEmbedder } from "./openai.ts";
import { staticEmbedder } from "./static.ts";
import { type TransformersEmbedderOptions, transformersEmbedder } from "./transformers.ts";

/** Which embedder to use: the one that comes with toolpipe, an endpoint, transformers.js, or any other. */
export type EmbedderChoice = "static" | OpenaiEmbedderOptions | TransformersEmbedderOptions | Embedder;

/** How meaning is searched. */
export interface EmbeddingOptions {
  /** `static` by default. */
  readonly embedder?: EmbedderChoice | undefined;
}

const text = v.pipe(v.string(), v.minLength(1, "a text that is not empty"));
const count = v.pipe(v.number(), v.integer(), v.minValue(1, "a whole number above 0"));

/** Checks {@link EmbeddingOptions}. */
export const embeddingOptions: v.GenericSchema<EmbeddingOptions> = v.strictObject({
  embedder: v.optional(
    v.union(
      [
        v.literal("static"),
        v.strictObject({
          type: v.literal("openai"),
          url: v.optional(v.pipe(v.string(), v.url("a URL"), v.regex(/^https?:/i, "a URL of http or https"))),
          model: text,
          apiKeyEnv: v.optional(text),
          dimensions: v.optional(count),
          queryPrefix: v.optional(v.string()),
          toolPrefix: v.optional(v.string()),
          timeoutMs: v.optional(count),
        }),
        v.strictObject({
          type: v.literal("transformers"),
          model: text,
          queryPrefix: v.optional(v.string()),
          toolPrefix: v.optional(v.string()),
        }),
        v.custom<Embedder>((value) => typeof (value as Partial<Embedder> | null)?.embedTools === "function"),
      ],
      '"static", { type: "openai", model, ... }, { type: "transformers", model }, or an embedder',
    ),
  ),
});

/** Makes the embedder that was chosen. */
export function embedderOf(choice: EmbedderChoice = "static"): Embedder {
  if (choice === "static") return staticEmbedder();
  if (!("type" in choice)) return choice;
  return choice.type === "openai" ? openaiEmbedder(choice) : transformersEmbedder(choice);
}
