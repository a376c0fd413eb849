/**
 * Rows of a specification: each is a test that runs the product, named by specification and line.
 *
 * ```ts
 * const { row, differs, added, prose, done } = specification("000");
 *
 * prose("1-5", 7);                                  // headings and introductions, which state nothing
 * row("12-14", "Own words for the statement.", async () => { expect(…) });
 * differs("20", "Own words for the statement.", "Why it differs.", async () => { expect(what happens instead) });
 * added("30-34", "Own words for what the lines leave open.", "Why it is there.", async () => { … });
 * done();                                           // last: checks lines and page; `done({ isComplete: false })` checks only the page
 * ```
 *
 * Lines are 1-based: `"12"`, `"12-14"` or `"12-14, 20"`. Blank lines, fences of code and rules of tables need no row. Row groups may live in
 * files of their own (`test/specs/001/rules.ts`), as functions of a `Specification`. `differs` is for differences that are settled and
 * explained, `added` for rows that the specification does not have. `npm run specs` runs all rows and writes `docs/specifications.md`.
 * What several rows need (a gateway, a folder) is opened once a file, in `beforeAll`: see `shared.ts`.
 *
 * @module
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, type TestContext, test } from "vitest";
import { checkLines, parseLines } from "./lines.ts";
import { type Row, replaceSection, type SpecificationId } from "./page.ts";

type RunRow = (context: TestContext) => unknown;

/** Registers the rows of one specification. */
export interface Specification {
  /** Registers a statement that holds. */
  row(lines: string, statement: string, run: RunRow, timeoutMs?: number): void;
  /** Registers a statement that differs on purpose; its test shows what happens instead. */
  differs(lines: string, statement: string, why: string, run: RunRow, timeoutMs?: number): void;
  /** Registers behavior that the lines leave open. */
  added(lines: string, statement: string, why: string, run: RunRow, timeoutMs?: number): void;
  /** Marks lines that state nothing. */
  prose(...lines: readonly (string | number)[]): void;
  /** Registers the checks of lines and page. Called last. */
  done(options?: { readonly isComplete?: boolean }): void;
}

const page = fileURLToPath(new URL("../../docs/specifications.md", import.meta.url));
const folder = new URL("../../../shared/specs/", import.meta.url);

/** Starts the rows of a specification. */
export function specification(id: SpecificationId): Specification {
  const rows: Row[] = [];
  const proseLines: string[] = [];
  const failed = new Set<Row>();

  function register(row: Row, run: RunRow, timeoutMs?: number): void {
    parseLines(row.lines);
    rows.push(row);
    test(
      `${id}:${row.lines} ${row.statement}`,
      async (context) => {
        failed.add(row);
        try {
          await run(context);
        } catch (thrown) {
          // A row that does not apply to this machine is skipped by an error of its own.
          if ((thrown as { code?: unknown }).code !== "VITEST_PENDING") throw thrown;
          failed.delete(row);
          throw thrown;
        }
        failed.delete(row);
      },
      timeoutMs,
    );
  }

  return {
    row: (lines, statement, run, timeoutMs) =>
      register({ lines, statement, outcome: "holds" }, run, timeoutMs),
    differs: (lines, statement, why, run, timeoutMs) =>
      register({ lines, statement, outcome: "differs", why }, run, timeoutMs),
    added: (lines, statement, why, run, timeoutMs) =>
      register({ lines, statement, outcome: "added", why }, run, timeoutMs),
    prose: (...lines) => void proseLines.push(...lines.map(String)),
    done({ isComplete = true } = {}) {
      test(`every line of specification ${id} belongs to a row or is marked as prose`, ({ skip }) => {
        if (!isComplete) skip(`the rows of ${id} are not complete yet`);
        const text = readSpecification(id);
        if (text === undefined) return skip("the specifications are not at hand");
        const offences = checkLines(
          text,
          rows.map(({ lines }) => lines),
          proseLines,
        );
        expect(offences).toEqual([]);
      });

      test(`docs/specifications.md lists the rows of specification ${id}`, async ({ skip }) => {
        if (failed.size > 0) skip("a row fails, so the page stays as it is");
        const current = existsSync(page) ? readFileSync(page, "utf8") : "";
        // To be run with one worker when it writes, since every specification writes its own section.
        await expect(replaceSection(current, id, rows)).toMatchFileSnapshot(page);
      });
    },
  };
}

/** Returns the text of a specification, where it is at hand. */
function readSpecification(id: SpecificationId): string | undefined {
  if (!existsSync(folder)) return undefined;
  const name = readdirSync(folder).find((file) => file.startsWith(`${id}_`));
  return name && readFileSync(new URL(name, folder), "utf8");
}
