import { readdir, readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { compareBaseline, formatTable, getBaseline } from "./_baseline.ts";
import { type Check, findFaults, readChecks } from "./_checks.ts";
import { findSuite } from "./_suite.ts";

const good: Check = { id: "good", status: "SUCCESS" };
const bad: Check = { id: "bad", status: "FAILURE", errorMessage: "It is bad." };
const doubtful: Check = { id: "doubtful", status: "WARNING" };

describe("the output of the suite", () => {
  test("is read by scenario, whatever folder it is in", async () => {
    const at = "2026-11-16T17-00-44-301Z";
    const folder = await temporaryFolder({
      [`server-server-initialize-${at}/checks.json`]: JSON.stringify([good]),
      [`server-tools-list-${at}/checks.json`]: JSON.stringify([bad]),
      [`auth/iss-normalized-${at}/checks.json`]: JSON.stringify([doubtful]),
      [`auth/iss-normalized-${at}/stdout.txt`]: "",
    });
    const found = await readChecks(folder);
    expect([...found.keys()].sort()).toEqual(["auth/iss-normalized", "server-initialize", "tools-list"]);
    expect(found.get("tools-list")).toEqual([bad]);
  });

  test("is a fault where a check failed, or only just did not, or nothing was checked", () => {
    expect(findFaults([good, { id: "other", status: "SKIPPED" }])).toEqual([]);
    expect(findFaults([good, bad, doubtful])).toEqual(["bad: It is bad.", "doubtful: failed"]);
    expect(findFaults([])).toEqual(["it was not run to its end"]);
    expect(findFaults(undefined)).toEqual(["it was not run to its end"]);
  });
});

describe("an outcome", () => {
  const [known = ""] = getBaseline("anygpt", "2025-11-25");

  test("counts what passed of what is scored, and is surprised by what fails without being known to", () => {
    const found = new Map([
      ["ping", [good]],
      ["tools-list", [bad]],
      [known, [bad]],
      ["not-scored", [bad]],
    ]);
    const outcome = compareBaseline("anygpt", "2025-11-25", ["ping", "tools-list", known], found);
    expect(outcome).toMatchObject({ passed: 1, scored: 3 });
    expect(outcome.surprises).toEqual(["tools-list fails\n    bad: It is bad."]);
  });

  test("is surprised by what passes and is known to fail", () => {
    const { surprises } = compareBaseline("anygpt", "2025-11-25", [known], new Map([[known, [good]]]));
    expect(surprises).toEqual([`${known} passes: take it out of the baseline`]);
  });

  test("is a row of the table", () => {
    const outcome = compareBaseline("client", "2026-07-28", ["ping"], new Map([["ping", [good]]]));
    expect(formatTable([outcome])).toContain("| Connections to servers, as a client | 2026-07-28 | 1 / 1 |");
  });
});

test("every line of a baseline has a reason", async () => {
  const folder = new URL("./baseline/", import.meta.url);
  for (const name of await readdir(folder)) {
    const lines = (await readFile(new URL(name, folder), "utf8"))
      .split("\n")
      .filter((line) => /^ *-/.test(line));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line).toMatch(/^ {2}- \S+ # \S.*$/);
  }
});

test("the suite is not there where no folder has it", async () => {
  expect(findSuite(await temporaryFolder())).toBeUndefined();
});
