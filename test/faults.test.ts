import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const folder = fileURLToPath(new URL("./", import.meta.url));
const read = (file: string): string => readFileSync(`${folder}${file}`, "utf8");

interface Row {
  /** How the titles of its tests begin. */
  readonly name: string;
  readonly files: readonly string[];
}

const rows: readonly Row[] = read("faults.md")
  .split("\n")
  .flatMap((line) => {
    const [, number = "", , files = ""] = line.split("|").map((cell) => cell.trim());
    if (/^\d+$/.test(number)) return [{ name: `fault ${number}:`, files: files.split(", ") }];
    return number.startsWith("extra: ") ? [{ name: number, files: files.split(", ") }] : [];
  });

/** How the titles of the tests begin that are run, as far as they name a fault. */
function listNames(source: string): string[] {
  const titles = source.matchAll(/(\.(?:skip|todo|fails))?\(\s*["'`]((?:fault \d+|extra): ?[^"'`\n]*)/g);
  return [...titles].flatMap(([, isLeftOut, title = ""]) => (isLeftOut ? [] : [title]));
}

test("the table has every fault once, in order", () => {
  const numbers = rows.flatMap(({ name }) => (name.startsWith("fault") ? [Number(name.slice(6, -1))] : []));
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  expect(numbers.length).toBeGreaterThanOrEqual(60);
  expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
});

describe("every row is tested in the files that it names", () => {
  test.each(rows)("$name", ({ name, files }) => {
    const without = files.filter((file) => !listNames(read(file)).some((title) => title.startsWith(name)));
    expect(without).toEqual([]);
  });
});

test("no test names a fault that is not in the table", () => {
  const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.endsWith("faults.test.ts"),
  );
  const unknown = sources.flatMap((file) =>
    listNames(read(file)).filter(
      (title) => title.startsWith("fault ") && !rows.some(({ name }) => title.startsWith(name)),
    ),
  );
  expect(unknown).toEqual([]);
});

test("a test that is left out does not count", () => {
  const source = 'test.skip("fault 1: a", f); test.todo("fault 2: b"); test.each([[1]])("fault 3: c", f);';
  expect(listNames(source)).toEqual(["fault 3: c"]);
});
