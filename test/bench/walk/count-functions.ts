// Loaded into a process before anything else: at SIGUSR2 it writes which scripts ran since the last time.
import { renameSync, writeFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector";

const file = process.env["TOOLPIPE_SCRIPTS"] ?? "";
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
let times = 0;

process.on("SIGUSR2", () => {
  session.post("Profiler.takePreciseCoverage", (_, { result }) => {
    writeFileSync(`${file}.new`, JSON.stringify(result.filter(hasRun).map(({ url }) => url)));
    renameSync(`${file}.new`, `${file}.${++times}`);
  });
});

function hasRun({ functions }: Profiler.ScriptCoverage): boolean {
  return functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
}
