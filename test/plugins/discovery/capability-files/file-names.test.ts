import { basename, posix, win32 } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chooseFileNames, chooseFolderName } from "../../../../plugins/discovery/capability-files/mod.ts";

const hostile = [
  "..",
  ".",
  "",
  "../../etc/passwd",
  "..\\..\\windows",
  "C:\\x",
  "/etc/passwd",
  "a/b",
  "a:b",
  "con",
  "NUL",
  "com1.txt",
  "LPT9",
  "aux.",
  "name ",
  "name.",
  "-rf",
  "a\0b",
  "a\nb",
  "ünï",
  "Tool",
  "tool",
  "TOOL",
  "x".repeat(500),
];
const names = fc.array(
  fc.oneof(
    fc.constantFrom(...hostile),
    fc.string({ unit: "binary", maxLength: 30 }),
    fc.string({ maxLength: 200 }),
  ),
  { maxLength: 40 },
);
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

function isSafe(file: string): boolean {
  return (
    /^[\w][\w.-]*$/.test(file) &&
    !/[. ]$/.test(file) &&
    file.length <= 100 &&
    !DEVICE.test(file) &&
    basename(file) === file &&
    posix.basename(file) === file &&
    win32.basename(file) === file
  );
}

describe("names of files", () => {
  test("are the names of tools where those will do", () => {
    const plain = ["list_issues", "create-issue", "getPullRequest", "runs.read_all", "2fa"];
    for (const [name, file] of chooseFileNames(plain)) expect(file).toBe(name);
    expect(chooseFileNames(plain).size).toBe(plain.length);
  });

  test("tell apart what a file system does not", () => {
    const made = chooseFileNames(["Tool", "tool", "TOOL"]);
    expect(made.get("tool")).toBe("tool");
    expect(new Set([...made.values()].map((file) => file.toLowerCase())).size).toBe(3);
  });

  test("are safe and different for every list of names, and do not depend on its order", () => {
    fc.assert(
      fc.property(names, (list) => {
        const made = chooseFileNames(list);
        expect(new Set([...made.values()].map((file) => file.toLowerCase())).size).toBe(new Set(list).size);
        for (const file of made.values()) expect(isSafe(file), file).toBe(true);
        expect([...chooseFileNames(list.toReversed())].toSorted()).toEqual([...made].toSorted());
      }),
    );
  });

  test("of folders are safe, and different for different servers", () => {
    fc.assert(
      fc.property(names, (list) => {
        const made = list.map(chooseFolderName);
        for (const file of made) expect(isSafe(file), file).toBe(true);
        expect(new Set(made.map((file) => file.toLowerCase())).size).toBe(new Set(list).size);
      }),
    );
    expect(chooseFolderName("github")).toBe("github");
    expect(chooseFolderName(chooseFolderName("a/b"))).not.toBe(chooseFolderName("a/b"));
  });
});
