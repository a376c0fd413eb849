import { expect, test } from "vitest";
import { place } from "../../../support/place.ts";
import { runMain } from "../../../support/run-cli.ts";

const weather = `
import { definePlugin } from "toolpipe";
import * as v from "valibot";
export default definePlugin({
  name: "weather",
  keys: ["city"],
  options: v.strictObject({
    city: v.pipe(v.string(), v.description("The city that is asked for.")),
    unit: v.optional(v.picklist(["celsius", "kelvin"]), "celsius"),
  }),
  setup: () => ({}),
});
`;

test("config options lists the options of a plugin, one's own included", async () => {
  await place({
    project: {
      "weather.ts": weather,
      "toolpipe.config.json": { plugins: ["./weather.ts"], options: { weather: { city: "Bern" } } },
    },
  });
  const { code, stdout } = await runMain(["config", "options", "weather"]);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: `weather (at the top of a config: city)
  city: string (required)
      The city that is asked for.
  unit: "celsius" | "kelvin" = "celsius"
`,
  });
});

test("config options without a name lists the plugins in use", async () => {
  await place({ project: { "toolpipe.config.json": { preset: "passthrough" } } });
  const { stdout } = await runMain(["config", "options", "--json"]);
  const { plugins } = JSON.parse(stdout) as { plugins: { plugin: string; options: { name: string }[] }[] };
  expect(plugins.map(({ plugin }) => plugin)).toContain("timeout");
  expect(plugins.find(({ plugin }) => plugin === "timeout")?.options.map(({ name }) => name)).toContain("ms");
});

test("config options names a plugin that is not in use, and refuses one that does not exist", async () => {
  await place({ project: { "toolpipe.config.json": { preset: "passthrough" } } });
  expect((await runMain(["config", "options", "logs"])).stdout).toContain('level: "debug" | "info"');
  expect(await runMain(["config", "options", "timeot"])).toMatchObject({
    code: 2,
    stderr: 'There is no plugin "timeot"; did you mean "timeout"?\n',
  });
});
