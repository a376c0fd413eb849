import type { TypeEmitter } from "../types/emitter.ts";

/** The formats that capabilities are written in. */
export type ExportFormat = "rtfs" | "typescript" | "json";

/** Their names, the one of the specification first. */
export const exportFormats: readonly ExportFormat[] = ["rtfs", "typescript", "json"];

/** What writes a format; each is loaded when it is asked for. */
export async function emitterOf(format: ExportFormat): Promise<TypeEmitter> {
  if (format === "rtfs") return (await import("../types/rtfs.ts")).rtfs;
  if (format === "typescript") return (await import("../types/typescript.ts")).typescript;
  return (await import("../types/normalise.ts")).jsonSchema;
}
