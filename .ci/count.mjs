// Adds up what the test runs report. A suite that needs more than Node says so in its name ("needs Redis"), and
// is skipped on a machine without it; here it must have run. Tests over data that is not part of the project may
// be skipped anywhere.
import { readFileSync } from "node:fs";

let passed = 0;
let failed = 0;
const skipped = [];
const unsure = [];
for (const file of process.argv.slice(2)) {
  const report = JSON.parse(readFileSync(file, "utf8"));
  passed += report.numPassedTests;
  failed += report.numFailedTests;
  unsure.push(...(report.unsure ?? []));
  for (const { assertionResults } of report.testResults) {
    skipped.push(
      ...assertionResults
        .filter(({ status }) => !["passed", "failed"].includes(status))
        .map(({ fullName }) => fullName),
    );
  }
}
for (const name of unsure) process.stdout.write(`passed only when run again: ${name}\n`);
for (const name of skipped) process.stdout.write(`skipped: ${name}\n`);
if (skipped.some((name) => /\bneeds [A-Z]/.test(name)) || failed > 0) process.exitCode = 1;
process.stdout.write(`${passed} passed, ${failed} failed, ${skipped.length} skipped\n`);
