import { resolve } from "node:path";
import type { CapabilityManifest } from "../types/manifest.ts";
import { emitterOf } from "./formats.ts";
import { PENDING_FOLDER } from "./request-approval.ts";
import { writeCapabilities } from "./write-capabilities.ts";

/** Writes what a discovery has found as RTFS, to the folder of what waits unless another is named. */
export async function exportRtfs(
  { name: server }: { readonly name: string },
  manifests: readonly CapabilityManifest[],
  directory: string = PENDING_FOLDER,
): Promise<void> {
  await writeCapabilities({
    folder: resolve(directory),
    server,
    manifests,
    emitter: await emitterOf("rtfs"),
  });
}
