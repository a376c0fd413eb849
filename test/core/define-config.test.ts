import { expect, test } from "vitest";
import { defineConfig } from "../../core/mod.ts";

test("a config with the section of the AnyGPT specification compiles and is returned unchanged", () => {
  const config = {
    discovery: {
      enabled: true,
      cache: { enabled: true, ttl: 3600 },
      servers: [
        {
          name: "github",
          description: "GitHub",
          connection: { type: "stdio", command: "npx", args: ["-y"] },
        },
      ],
      toolRules: [{ pattern: ["*github*", "!*delete*"], enabled: true, tags: ["github"] }],
      options: { timeout: { ms: 1000 } },
    },
  };
  // Checked by the compiler: a wrong type of the section fails the build.
  // @ts-expect-error: `enabled` is true or false.
  defineConfig({ discovery: { enabled: "false" } });
  expect(defineConfig(config)).toBe(config);
});
