import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { findOffences } from "./support/layer-rules.ts";
import { readSource, readSources, type SourceFile } from "./support/source-graph.ts";

// The layers of ARCHITECTURE.md: core, plugins, composition roots.
const offences = Object.entries(findOffences(readSources(fileURLToPath(new URL("../", import.meta.url)))));

test.each(offences)("%s", (_rule, found) => {
  expect(found).toEqual([]);
});

describe("the reader of imports", () => {
  const names = new Map([["toolpipe/plugins/retry", "plugins/retry/mod.ts"]]);
  const read = (text: string): SourceFile => readSource("plugins/a/b.ts", text, names);

  test.each([
    ['import { x } from "../c.ts";', "plugins/c.ts", false, false],
    ['import x, { type Y } from "../c.ts";', "plugins/c.ts", false, false],
    ['import { type X, type Y } from "../c.ts";', "plugins/c.ts", true, false],
    ['import type { X } from "./d.ts";', "plugins/a/d.ts", true, false],
    ['import type {} from "./d.ts";', "plugins/a/d.ts", true, false],
    ['import "./d.ts";', "plugins/a/d.ts", false, false],
    ['export { x } from "./d.ts";', "plugins/a/d.ts", false, false],
    ['export * from "./d.ts";', "plugins/a/d.ts", false, false],
    ['export type { X } from "./d.ts";', "plugins/a/d.ts", true, false],
    ['const x = await import("./d.ts");', "plugins/a/d.ts", false, true],
    ['let x: import("../../core/mod.ts").Call;', "core/mod.ts", true, false],
    ['declare module "../../core/mod.ts" {\n}', "core/mod.ts", true, false],
    ['import { retry } from "toolpipe/plugins/retry";', "plugins/retry/mod.ts", false, false],
  ])("sees %s", (text, to, isType, isDynamic) => {
    expect(read(text).imports).toEqual([{ to, isType, isDynamic }]);
  });

  test("leaves packages alone, and counts import() of a computed path", () => {
    const { imports, computedImports } = read(
      'import "node:fs";\nimport * as v from "valibot";\nawait import(x);',
    );
    expect(imports).toEqual([]);
    expect(computedImports).toBe(1);
  });

  test("lists what is declared and exported, and not what is passed on", () => {
    const { exports } = read(
      'export const a = 1, { b } = c;\nexport function d() {}\nexport interface E {}\nexport { f } from "./f.ts";',
    );
    expect(exports).toEqual(["a", "b", "d", "E"]);
  });
});

test("each rule sees what breaks it", () => {
  const file = (path: string, text: string): SourceFile => readSource(path, text, new Map());
  const broken = Object.entries(
    findOffences([
      file("core/call.ts", 'import type { State } from "../plugins/state/mod.ts";\nexport interface Call {}'),
      file(
        "plugins/lib/files.ts",
        'import { createGateway } from "../../core/gateway.ts";\nimport "../retry.ts";',
      ),
      file("plugins/retry.ts", 'import "./state/mod.ts";\nimport "./cli/mod.ts";\nimport "./lib/files.ts";'),
      file("plugins/state/mod.ts", 'import "../retry.ts";\nimport "./_own.ts";\nexport type Call = 1;'),
      file("plugins/state/_own.ts", 'import "../../core/call.ts";'),
      file(
        "plugins/state/commands/mod.ts",
        'import { x } from "./x.ts";\nimport type { Y } from "./y.ts";\nimport(z);',
      ),
      file(
        "presets/anygpt/mod.ts",
        'import "../../plugins/state/mod.ts";\nimport "../../plugins/state/store.ts";',
      ),
    ]),
  ).map(([, found]) => found);
  expect(broken).toEqual([
    ["core/call.ts → plugins/state/mod.ts"],
    ["plugins/lib/files.ts → plugins/retry.ts"],
    ["plugins/lib/files.ts → core/gateway.ts"],
    ["plugins/retry.ts → plugins/state/mod.ts", "plugins/state/mod.ts → plugins/retry.ts"],
    ["plugins/retry.ts → plugins/cli/mod.ts"],
    ["presets/anygpt/mod.ts → plugins/state/store.ts"],
    [
      "plugins/state/commands/mod.ts → plugins/state/commands/x.ts",
      "plugins/state/commands/mod.ts → import() of a computed path",
    ],
    ["plugins/lib in a cycle of 3", "plugins/retry in a cycle of 3", "plugins/state in a cycle of 3"],
    ["plugins/state/_own.ts"],
    ["Call: core/call.ts, plugins/state/mod.ts"],
    [
      "core/call.ts (2 lines) ← plugins/state/_own.ts",
      "plugins/lib/files.ts (2 lines) ← plugins/retry.ts",
      "plugins/state/_own.ts (1 lines) ← plugins/state/mod.ts",
    ],
  ]);
});
