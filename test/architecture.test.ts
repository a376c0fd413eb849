import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = new URL("../", import.meta.url);
const page = readFileSync(new URL("ARCHITECTURE.md", root), "utf8");

test("every file and folder that ARCHITECTURE.md names exists", () => {
  const links = [...page.matchAll(/\]\(([\w./-]+)\)/g)].map(([, path = ""]) => path);
  const words = [...page.matchAll(/(?<![\w/])((?:core|plugins|presets|test|playground)\/[\w./-]*\w)/g)].map(
    ([, path = ""]) => path,
  );
  const named = [...links, ...words].filter((path) => !/name|\*/.test(path));
  const missing = named.filter((path) =>
    ["", ".ts", "/mod.ts"].every((ending) => !existsSync(fileURLToPath(new URL(`${path}${ending}`, root)))),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});
