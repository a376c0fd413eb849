import { join } from "node:path";
import { expect, test } from "vitest";
import { loadModule } from "../../core/load-module.ts";
import { GatewayError } from "../../core/mod.ts";
import { demo } from "../../plugins/demo.ts";
import { catchFailure } from "../support/failure.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a module of this package is the one in memory, not a copy", async () => {
  const folder = await temporaryFolder();
  const module = await loadModule("toolpipe/plugins/demo", join(folder, "any"));
  expect(module["demo"]).toBe(demo);
});

test.each(["ts", "mts", "js", "mjs"])(
  "a .%s module that imports a plugin gets the one in memory",
  async (ending) => {
    const name = `module.${ending}`;
    const folder = await temporaryFolder({ [name]: `export { demo } from "toolpipe/plugins/demo";` });
    expect((await loadModule(`./${name}`, join(folder, "any")))["demo"]).toBe(demo);
  },
);

test("a CommonJS module can require the core and the plugins", async () => {
  const folder = await temporaryFolder({
    "module.cjs": `const { GatewayError } = require("toolpipe"); exports.same = GatewayError;
      exports.name = require("toolpipe/plugins/demo").demo.pluginName;`,
  });
  const module = await loadModule("./module.cjs", join(folder, "any"));
  const exported = (module["default"] ?? module) as Record<string, unknown>;
  expect(exported["same"]).toBe(GatewayError);
  expect(exported["name"]).toBe("demo");
});

test("a plugin that this package does not have is refused, and the nearest is named", async () => {
  const error = await catchFailure(loadModule("toolpipe/plugins/dmo", "/any"));
  expect(error).toMatchObject({ code: "CONFIG_INVALID" });
  expect(error.message).toContain(`did you mean "toolpipe/plugins/demo"?`);
});
