/**
 * An embedder: counts the letter triples of a text, so that words that are written alike are near to one another.
 *
 * { "search": { "ranker": "embedding", "embedding": { "embedder": "./embedder.ts" } } }
 */
import type { Tool } from "toolpipe";
import type { EmbedderDriver } from "toolpipe/services";

export const embedder: EmbedderDriver = ({ dimensions = 512 }) => {
  const size = Number(dimensions);

  function embed(text: string): Float32Array {
    const vector = new Float32Array(size);
    for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
      const padded = `  ${word}  `;
      for (let start = 0; start + 3 <= padded.length; start++) {
        let place = 0;
        for (let at = start; at < start + 3; at++) place = (place * 31 + padded.charCodeAt(at)) % size;
        vector[place] = (vector[place] ?? 0) + 1;
      }
    }
    const length = Math.hypot(...vector);
    return length > 0 ? vector.map((value) => value / length) : vector;
  }

  const joinText = ({ name, description = "" }: Tool): string => `${name} ${description}`;
  return {
    name: "triples",
    dimensions: size,
    hash: `triples-1-${size}`,
    isSync: true,
    embedQueries: (texts) => texts.map(embed),
    embedTools: (tools) => tools.map((tool) => embed(joinText(tool))),
    joinText,
  };
};
