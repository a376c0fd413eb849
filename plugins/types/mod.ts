/**
 * JSON Schemas in the words of TypeScript and of RTFS, or normalised, and examples of what they allow.
 *
 * @module
 */
import { definePlugin, type PluginFactory } from "../../core/mod.ts";
import type { TypeEmitter } from "../../core/services/emitter.ts";
import { jsonSchema } from "./normalise.ts";
import { rtfs } from "./rtfs.ts";
import { typescript } from "./typescript.ts";

export type { CapabilityManifest, CapabilityProvider, TypeEmitter } from "../../core/services/emitter.ts";
export { exampleOf } from "../lib/schema/example.ts";
export {
  type CompactTypeOptions,
  compactType,
  type SignatureOptions,
  signature,
} from "../lib/schema/signature.ts";
export { jsonSchema, type NormaliseOptions, normalise } from "./normalise.ts";
export { rtfs } from "./rtfs.ts";
export { printCapability } from "./rtfs-capability.ts";
export { RTFS_INVALID } from "./rtfs-forms.ts";
export { parseCapability, parseRtfsType, type RtfsCapability } from "./rtfs-parse.ts";
export { printRtfsType, type RtfsEntry, type RtfsType, type RtfsWord, rtfsWords } from "./rtfs-print.ts";
export { rtfsType } from "./rtfs-type.ts";
export { typeDeclarations, typescript } from "./typescript.ts";

/** The emitters that come with toolpipe: `rtfs`, `typescript` and `json`. */
export const typeEmitters: readonly TypeEmitter[] = Object.freeze([rtfs, typescript, jsonSchema]);

/** Registers the type emitters, by which discovery converts schemas and `export` writes files. */
export const types: PluginFactory<"types"> = definePlugin({
  name: "types",
  uses: [],
  setup(gateway) {
    for (const emitter of typeEmitters) gateway.register("emitter", emitter.name, emitter);
  },
});
