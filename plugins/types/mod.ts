/**
 * JSON Schemas in the words of TypeScript, and examples of what they allow.
 *
 * @module
 */
export { type CompactTypeOptions, compactType } from "./compact-type.ts";
export { exampleOf } from "./example.ts";
export { type SignatureOptions, signature } from "./signature.ts";
