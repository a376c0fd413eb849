import type { TypeEmitter } from "./emitter.ts";
import { jsonSchema } from "./normalise.ts";
import { rtfs } from "./rtfs.ts";
import { typescript } from "./typescript.ts";

/** The emitters that come with toolpipe: `rtfs`, `typescript` and `json`. */
export const typeEmitters: readonly TypeEmitter[] = Object.freeze([rtfs, typescript, jsonSchema]);
