/**
 * Writes JSON Schemas as TypeScript, as RTFS or normalized, and creates examples of values that they allow.
 *
 * @module
 */
import { definePlugin } from "../../core/mod.ts";
import type { TypeEmitter } from "../../core/services/emitter.ts";
import { jsonSchema } from "./json-schema.ts";
import { rtfs } from "./rtfs.ts";
import { RTFS_INVALID } from "./rtfs-forms.ts";
import { typescript } from "./typescript.ts";

export type { CapabilityManifest, TypeEmitter } from "../../core/services/emitter.ts";
export { createExample } from "../lib/schema/example.ts";
export {
  type CompactTypeOptions,
  compactType,
  type SignatureOptions,
  signature,
} from "../lib/schema/signature.ts";
export { jsonSchema, type NormalizeOptions, normalizeSchema } from "./json-schema.ts";
export { printCapability, printRtfsType, rtfs } from "./rtfs.ts";
export { RTFS_INVALID } from "./rtfs-forms.ts";
export { parseCapability, parseRtfsType, type RtfsCapability } from "./rtfs-parse.ts";
export { type RtfsEntry, type RtfsType, type RtfsWord, rtfsType, rtfsWords } from "./rtfs-type.ts";
export { typeDeclarations, typescript } from "./typescript.ts";

/** Built-in emitters: `rtfs`, `typescript` and `json`. */
export const typeEmitters: readonly TypeEmitter[] = Object.freeze([rtfs, typescript, jsonSchema]);

/** Registers the type emitters, by which discovery converts schemas and `export` writes files. */
export const types = definePlugin({
  name: "types",
  uses: [],
  errors: { RTFS_INVALID },
  setup(gateway) {
    for (const emitter of typeEmitters) gateway.register("emitter", emitter.name, emitter);
  },
});
