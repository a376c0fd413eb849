import { expect, test } from "vitest";
import { loadedModules } from "./bench/start-modules.ts";
import { walkedFiles } from "./bench/walk.ts";

// Both need the build and Node's inspector. The limits only fall: lower them with the sources.
const WALKED = 48;
const LOADED = 190;
const isNode = !("Deno" in globalThis) && process.platform !== "win32";

test.runIf(isNode)("a warm call runs through few files (npm run bench walk)", async () => {
  const files = await walkedFiles();
  expect(files).toContain("core/pipeline.ts");
  expect(files.length, files.join("\n")).toBeLessThanOrEqual(WALKED);
});

test.runIf(isNode)("a start loads few modules (npm run bench start-modules)", async () => {
  const files = await loadedModules();
  expect(files).toContain("core/gateway.ts");
  expect(files.length, files.join("\n")).toBeLessThanOrEqual(LOADED);
});
