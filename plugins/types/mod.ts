/**
 * JSON Schemas in the words of TypeScript and of RTFS, or normalised, and examples of what they allow.
 *
 * @module
 */
export { RTFS_INVALID } from "./_rtfs-forms.ts";
export { type CompactTypeOptions, compactType } from "./compact-type.ts";
export type { TypeEmitter } from "./emitter.ts";
export { typeEmitters } from "./emitters.ts";
export { exampleOf } from "./example.ts";
export type { CapabilityManifest, CapabilityProvider } from "./manifest.ts";
export { jsonSchema, type NormaliseOptions, normalise } from "./normalise.ts";
export { rtfs } from "./rtfs.ts";
export { printCapability } from "./rtfs-capability.ts";
export { parseCapability, parseRtfsType, type RtfsCapability } from "./rtfs-parse.ts";
export { printRtfsType, type RtfsEntry, type RtfsType, type RtfsWord, rtfsWords } from "./rtfs-print.ts";
export { rtfsType } from "./rtfs-type.ts";
export { type SignatureOptions, signature } from "./signature.ts";
export { typeDeclarations, typescript } from "./typescript.ts";
