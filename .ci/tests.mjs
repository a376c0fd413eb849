// Runs a suite: `node .ci/tests.mjs REPORT COMMAND…`. What failed is run once more, alone: a machine that stood still
// for a moment must not cost a release. It is no secret, though: such tests are named at the end of the run, and each
// is a bug to be found.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";

/** More than this is no bad moment. */
const MOST = 3;
const [report, command, ...args] = process.argv.slice(2);

const first = run(args, report);
if (first !== 0) again();

function again() {
  const before = read(report);
  const broken = before?.testResults.filter(({ status }) => status !== "passed") ?? [];
  if (broken.length === 0 || broken.length > MOST) return giveUp();
  const files = broken.map(({ name }) => relative(process.cwd(), name));
  process.stdout.write(`\n== Once more: ${files.join(", ")}\n`);
  const second = `${report}.again`;
  if (run([...args.filter((arg) => arg !== "--coverage"), ...files], second) !== 0) return giveUp();
  const unsure = broken.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => fullName),
  );
  const repaired = read(second).testResults;
  const testResults = before.testResults.map((old) => repaired.find(({ name }) => name === old.name) ?? old);
  const count = (wanted) =>
    testResults.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => status === wanted)
      .length;
  writeFileSync(
    report,
    JSON.stringify({
      ...before,
      testResults,
      numPassedTests: count("passed"),
      numFailedTests: count("failed"),
      unsure: unsure.length > 0 ? unsure : files,
    }),
  );
}

function run(rest, file) {
  return spawnSync(command, [...rest, "--reporter=default", "--reporter=json", `--outputFile.json=${file}`], {
    stdio: "inherit",
  }).status;
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

function giveUp() {
  process.exitCode = 1;
}
