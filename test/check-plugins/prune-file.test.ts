import { describe, expect, test } from "vitest";
import { pruneFile } from "./prune-file.ts";

const modules = new Map([["toolpipe/plugins/gone", "plugins/gone/mod.ts"]]);
const isGone = (file: string, name?: string): boolean =>
  file.startsWith("plugins/gone/") || (file === "presets/base.ts" && name === "lost");

/** The lines that are left of a preset, and the exports that are not. */
function prune(text: string): readonly [left: string, ...lost: string[]] {
  const { text: left = text, lost = [] } = pruneFile("presets/a.ts", text, isGone, modules) ?? {};
  return [
    left
      .replaceAll(/\s+/g, " ")
      .replaceAll(/, ([\]}])/g, "$1")
      .replaceAll(/([^{ ])}/g, "$1 }")
      .trim(),
    ...lost,
  ];
}

const gone = 'import { gone, type GoneOptions } from "../plugins/gone/mod.ts";\n';

describe("a file that imports a plugin which is gone", () => {
  test.each([
    ["an element of a list", "const plugins = [a(), gone({ x: 1 }), b()];", "const plugins = [a(), b()];"],
    ["the last element", "f([a, gone()]);", "f([a]);"],
    ["a spread", "const all = { ...gone, b };", "const all = { b };"],
    ["a property", "const table = { a: 1, gone: () => gone, b: 2 };", "const table = { a: 1, b: 2 };"],
    ["a shorthand property", "f({ a, gone });", "f({ a });"],
    [
      "a member of an interface",
      "interface A { a: 1; gone?: GoneOptions; b: 2 }",
      "interface A { a: 1; b: 2 }",
    ],
    [
      "a base of an interface",
      'interface A extends B, Pick<GoneOptions, "x"> {}',
      "interface A extends B, Record<never, never> {}",
    ],
    ["a member of a union", "type A = B | GoneOptions | C;", "type A = B | never | C;"],
    ["a member of an intersection", "type A = B & GoneOptions;", "type A = B & unknown;"],
    ["a statement", "a(); gone(); b();", "a(); b();"],
    ["what a statement declared", "const x = gone(); const y = f(x); a(y); b();", "b();"],
    [
      "what a statement of a function declared",
      "function f() { const x = gone(); if (a) x.b(); c(); }",
      "function f() { c(); }",
    ],
    [
      "a name of another function stays",
      "function f() { const x = gone(); } function g() { const x = a(); b(x); }",
      "function f() { } function g() { const x = a(); b(x); }",
    ],
    [
      "a function that cannot answer any more",
      "function f() { if (a) return 1; return gone(); } function g() { return 2; } const x = f();",
      "function g() { return 2; }",
    ],
    [
      "a function whose answer lacks a member",
      "function f() { const x = gone(); return { a, x }; } function g() { f(); } b();",
      "function g() { } b();",
    ],
    [
      "a function whose answer is a call without a member",
      "function f() { const x = gone(); return h({ a, x }); } b();",
      "b();",
    ],
    [
      "a class whose constructor needs it",
      "class A { x; constructor() { this.x = gone(); } } class B { f() { gone(); a(); } }",
      "class B { f() { a(); } }",
    ],
    ["what a definition needs", "const command = defineCommand({ args, run: () => gone() }); b();", "b();"],
    [
      "an interface that needs it",
      "interface A { a: 1; gone: GoneOptions } function f(a: A) {} b();",
      "b();",
    ],
    [
      "a parameter of the same name stays",
      "const f = (gone: number) => gone + 1;",
      "const f = (gone: number) => gone + 1;",
    ],
    ["a key of the same name stays", "a.gone = { gone: 1 };", "a.gone = { gone: 1 };"],
  ])("%s", (_, text, left) => {
    expect(prune(gone + text)).toEqual([left]);
  });

  test.each([
    [
      "import()",
      'const table = { a: () => import("./a.ts"), gone: () => import("../plugins/gone/mod.ts") };',
      'const table = { a: () => import("./a.ts") };',
    ],
    ["an import type", 'type A = B | import("../plugins/gone/mod.ts").C;', "type A = B | never;"],
    ["an import by the name of the package", 'import "toolpipe/plugins/gone";', ""],
    [
      "one name that another file lost",
      'import { a, lost } from "./base.ts"; f(a); f(lost);',
      'import { a } from "./base.ts"; f(a);',
    ],
    [
      "one name of a file that is loaded later",
      'const all = [async () => (await import("./base.ts")).lost(), async () => (await import("./base.ts")).a()];',
      'const all = [ async () => (await import("./base.ts")).a()];',
    ],
    [
      "a file that has nothing to do with it",
      'import { a } from "./base.ts";',
      'import { a } from "./base.ts";',
    ],
  ])("%s", (_, text, left) => {
    expect(prune(text)).toEqual([left]);
  });

  test("returns the removed exports", () => {
    expect(prune('export { a } from "../plugins/gone/mod.ts";')).toEqual(["", "a"]);
    expect(prune(`${gone}export const x = gone();`)).toEqual(["", "x"]);
    expect(prune(`${gone}export { gone, other };`)).toEqual(["export { other };", "gone"]);
  });
});
