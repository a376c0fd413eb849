import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";

const { exports } = JSON.parse(readFileSync(new URL("./deno.json", import.meta.url), "utf8")) as {
  exports: Record<string, string>;
};

const config: ViteUserConfig = defineConfig({
  resolve: {
    // Tests and examples import this package by its name, and get the sources.
    alias: Object.entries(exports).map(([name, file]) => ({
      find: new RegExp(`^${name.replace(/^\./, "toolpipe")}$`),
      replacement: fileURLToPath(new URL(file, import.meta.url)),
    })),
  },
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/support/seed.ts", "test/support/own-home.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Most tests wait for processes: a machine of two cores is not busy with one of them.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    coverage: {
      include: ["core/**/*.ts", "plugins/**/*.ts", "presets/**/*.ts"],
      reporter: ["text-summary", "json-summary"],
      thresholds: { lines: 90 },
    },
  },
});

export default config;
