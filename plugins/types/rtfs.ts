import type { TypeEmitter } from "../../core/services/emitter.ts";
import { printCapability } from "./rtfs-capability.ts";
import { printRtfsType } from "./rtfs-print.ts";
import { rtfsType } from "./rtfs-type.ts";

/**
 * Writes types as RTFS, and tools as its capabilities.
 *
 * @example
 * ```ts
 * import { rtfs } from "toolpipe/plugins/types";
 *
 * rtfs.type({ type: "array", items: { type: "integer" } }); // [:vector :int]
 * ```
 */
export const rtfs: TypeEmitter = {
  name: "rtfs",
  extension: ".rtfs",
  type: (schema) => printRtfsType(rtfsType(schema)),
  declaration: printCapability,
};
