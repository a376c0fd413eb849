// Deletes each plugin in turn, in a copy of the project, and type-checks the rest.
//   npm run check:plugins -- [--only a,b] [--tests] [--product] [--verbose] [--max n]
// `--tests` also starts each preset, and runs the tests that are left: those of core, the helpers and other plugins have
// to pass. `--product` runs those too that run the composed product, and counts those that want the plugin.
import { execFile, execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { listRemainingTests } from "./remaining-tests.ts";
import { listPlugins, removePlugin } from "./remove-plugin.ts";
import { startPresets } from "./start-presets.ts";

interface Outcome {
  /** Files that were run, of core, the helpers and other plugins. */
  readonly own: number;
  /** Tests of those that fail. */
  readonly failed: readonly string[];
  /** Files that were run and that use the composed product. */
  readonly composed?: number;
  /** Tests of those that fail: they want what the plugin did for the product. */
  readonly needing?: readonly string[];
}

interface Verdict {
  readonly plugin: string;
  /** Errors of the compiler, one line each. */
  readonly errors: readonly string[];
  /** Outcome of the remaining tests; undefined where none were run. */
  readonly tests?: Outcome;
  /** What `toolpipe serve` does without the plugin, by preset. */
  readonly starts?: Readonly<Record<string, string>>;
  /** Tests of the composed product and of several plugins together that use the plugin, and went with it. */
  readonly dropped: readonly string[];
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);
const { values } = parseArgs({
  options: {
    only: { type: "string" },
    tests: { type: "boolean", default: false },
    product: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
    /** How many plugins may still fail. */
    max: { type: "string", default: "0" },
  },
});

const plugins = values.only?.split(",") ?? listPlugins(root);
const unknown = plugins.filter((plugin) => !listPlugins(root).includes(plugin));
if (unknown.length > 0) throw new Error(`There is no plugin "${unknown.join('", "')}" in plugins/.`);

const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\0")
  // A file that is deleted but not committed is still listed.
  .filter((file) => file !== "" && existsSync(join(root, file)));
// Files that do not see a deleted plugin need no second check.
const checked = join(mkdtempSync(join(tmpdir(), "toolpipe-checked-")), "tsconfig.tsbuildinfo");
await prime();
const queue = [...plugins];
const verdicts: Verdict[] = [];
// Two at a time, each on one core: with several threads the compiler does a third of its work twice.
await Promise.all([work(), work()]);
rmSync(dirname(checked), { recursive: true });
report();

/** Checks the whole project once, which must have no errors. */
async function prime(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "toolpipe-whole-"));
  try {
    copyProject(folder);
    allowUnused(folder);
    const errors = await typeErrors(folder);
    if (errors.length > 0)
      throw new Error(`The project has errors before a plugin is deleted:\n${errors.join("\n")}`);
    cpSync(join(folder, "tsconfig.tsbuildinfo"), checked);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function copyProject(folder: string): void {
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}

/** Imports that only the deleted plugin needed may be left over. */
function allowUnused(folder: string): void {
  const file = join(folder, "tsconfig.json");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replaceAll(/"(noUnused\w+)": true/g, '"$1": false'));
}

async function work(): Promise<void> {
  for (let plugin = queue.shift(); plugin !== undefined; plugin = queue.shift()) {
    const folder = mkdtempSync(join(tmpdir(), `toolpipe-without-${plugin}-`));
    try {
      const verdict = await check(plugin, folder);
      verdicts.push(verdict);
      process.stderr.write(`${plugin} ${verdict.errors.length}\n`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

async function check(plugin: string, folder: string): Promise<Verdict> {
  copyProject(folder);
  allowUnused(folder);
  cpSync(checked, join(folder, "tsconfig.tsbuildinfo"));
  const dropped = removePlugin(folder, plugin);
  const errors = await typeErrors(folder);
  if (!values.tests || errors.length > 0) return { plugin, errors, dropped };
  // Tests start the build as another user too, and generated pages are generated anew where a plugin is deleted.
  chmodSync(folder, 0o755);
  const failure = await build(folder);
  if (failure !== undefined) return { plugin, errors: [failure], dropped };
  await failedTests(folder, ["test/core/config-schema.test.ts"], "--update");
  return {
    plugin,
    errors,
    dropped,
    starts: await startPresets(folder),
    tests: await runTests(folder),
  };
}

/** Builds a copy. Returns the first line that says why it cannot be built. */
async function build(folder: string): Promise<string | undefined> {
  return await run("npm", ["run", "build"], { cwd: folder, maxBuffer: 1e8 }).then(
    () => undefined,
    ({ stdout = "", stderr = "" }: { stdout?: string; stderr?: string }) =>
      `${stdout}\n${stderr}`.split("\n").find((line) => /error|cannot/i.test(line)) ?? "The build fails.",
  );
}

async function typeErrors(folder: string): Promise<string[]> {
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  const options = "--incremental --singleThreaded --pretty false";
  return await run(process.execPath, [compiler, ...options.split(" ")], { cwd: folder, maxBuffer: 1e8 }).then(
    () => [],
    (failure: { stdout?: string }) =>
      (failure.stdout ?? String(failure)).split("\n").filter((line) => /^\S.*error/.test(line)),
  );
}

async function runTests(folder: string): Promise<Outcome> {
  const { own, composed } = listRemainingTests(folder, root);
  const failed = await failedTests(folder, own);
  if (!values.product) return { own: own.length, failed };
  return { own: own.length, failed, composed: composed.length, needing: await failedTests(folder, composed) };
}

async function failedTests(
  folder: string,
  tests: readonly string[],
  ...flags: readonly string[]
): Promise<string[]> {
  if (tests.length === 0) return [];
  const output = join(folder, "coverage", "tests.json");
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const args = [vitest, "run", "--reporter=json", `--outputFile=${output}`, ...flags, ...tests];
  await run(process.execPath, args, { cwd: folder, maxBuffer: 1e9 }).catch(() => undefined);
  const { testResults } = JSON.parse(readFileSync(output, "utf8")) as {
    testResults: { name: string; status: string; assertionResults: { status: string; fullName: string }[] }[];
  };
  return testResults
    .filter(({ status }) => status === "failed")
    .flatMap(({ name, assertionResults }) => {
      const failed = assertionResults.filter(({ status }) => status === "failed");
      return (failed.length > 0 ? failed.map(({ fullName }) => fullName) : ["cannot be loaded"]).map(
        (title) => `${name.slice(folder.length + 1)}: ${title}`,
      );
    });
}

function column(value: number | undefined, width: number): string {
  return `${String(value ?? "-").padStart(width)}  `;
}

function report(): void {
  const width = Math.max(...plugins.map((plugin) => plugin.length));
  process.stdout.write(
    `\n${"plugin".padEnd(width)}  errors  tests gone  ${values.tests ? "files run  tests failed  of the product  tests failed  presets  " : ""}in\n`,
  );
  for (const { plugin, errors, tests, starts, dropped } of verdicts.sort((a, b) =>
    a.plugin.localeCompare(b.plugin),
  )) {
    const places = [...new Set(errors.map((error) => error.replace(/\(.*/, "")))];
    const gone = String(dropped.filter((file) => file.endsWith(".test.ts")).length).padStart(10);
    const ran = tests
      ? `${column(tests.own, 9)}${column(tests.failed.length, 12)}${column(tests.composed, 14)}${column(tests.needing?.length, 12)}`
      : "";
    const presets = Object.entries(starts ?? {}).map(([preset, outcome]) => `${preset}: ${outcome}  `);
    const some = values.verbose ? [] : places.slice(0, 6);
    const rest = places.length - some.length;
    process.stdout.write(
      `${plugin.padEnd(width)}  ${String(errors.length).padStart(6)}  ${gone}  ${ran}${presets.join("")}${some.join(" ")}${rest > 0 && some.length > 0 ? ` and ${rest} more` : ""}\n`,
    );
    if (values.verbose)
      for (const line of [...errors, ...(tests?.failed ?? []), ...(tests?.needing ?? [])])
        process.stdout.write(`    ${line}\n`);
  }
  const bad = verdicts.filter(
    ({ errors, tests }) => errors.length > 0 || (tests?.failed.length ?? 0) > 0,
  ).length;
  process.stdout.write(`\n${verdicts.length - bad} of ${verdicts.length} plugins can be deleted.\n`);
  if (bad > Number(values.max)) process.exitCode = 1;
}
