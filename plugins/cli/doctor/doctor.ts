import { type Gateway, GatewayError, type LoadedConfig, type Preset } from "../../../core/mod.ts";
import { configArgs, defineCommand } from "../../../core/services/command.ts";
import { explainNoServers, isHeld } from "../../lib/servers.ts";
import { formatCount, output, quoteForShell, toTerminalLine } from "../../lib/terminal/output.ts";
import { loadCliConfig, withGateway } from "../context.ts";
import { describeSaving, estimatePreset, formatNumber } from "../cost.ts";
import {
  checkServers,
  collectFindings,
  type Finding,
  recordFailures,
  type ServerCheck,
  toTimedConfig,
} from "./checks.ts";
import { findRemedy, type Remedy } from "./remedy.ts";

/** Exit code if something is broken. */
const BROKEN = 1;

/** One server in the report. */
type Row = Awaited<ReturnType<typeof createRow>>;
type Report = ReturnType<typeof createDoctorReport>;

/** Starts every server, measures time and tokens, and reports problems with their fixes. */
export const command = defineCommand({
  args: { json: { type: "boolean", description: "Print JSON" }, ...configArgs },
  async run(given) {
    const print = (report: Report, text: () => string): number => {
      output(given.json, report, text);
      return report.ok ? 0 : BROKEN;
    };
    const config = await loadOrFail(given);
    if (GatewayError.is(config)) {
      const report = brokenConfig(config);
      return print(report, () => `${report.findings.flatMap(describeFinding).join("\n")}\n`);
    }
    const failures = recordFailures();
    return withGateway(
      toTimedConfig(config),
      async (gateway) => {
        const checked = await checkServers(gateway, failures);
        const more = given.config === undefined ? "" : ` --config ${quoteForShell(given.config)}`;
        const servers = await Promise.all(checked.map((one) => createRow(one, more)));
        const report = createDoctorReport(
          gateway,
          config.preset,
          sortRows(servers),
          await collectFindings(gateway),
        );
        return print(report, () => describe(report, gateway));
      },
      [failures.plugin],
    );
  },
});

async function loadOrFail(given: Parameters<typeof loadCliConfig>[0]): Promise<LoadedConfig | GatewayError> {
  try {
    return await loadCliConfig(given);
  } catch (thrown) {
    // A wrong command line is not a finding, nor is a config that was never used.
    const isFinding =
      GatewayError.is(thrown) && thrown.code !== "USAGE" && thrown.data["event"] !== "config-not-approved";
    if (isFinding) return thrown;
    throw thrown;
  }
}

function brokenConfig({ message, data }: GatewayError): Report {
  const file = typeof data["file"] === "string" ? data["file"] : null;
  const finding: Finding = {
    severity: "broken",
    code: "CONFIG_INVALID",
    problem: toTerminalLine(message),
    fix: "Correct the config: without it, toolpipe has no servers.",
  };
  const totals = { servers: 0, tools: 0, tokens: 0, tokensThroughToolpipe: 0 };
  return { ok: false, config: file, servers: [], findings: [finding], totals };
}

async function createRow(checked: ServerCheck, more: string) {
  const { status, ok, ms = null, tools, tokens, error } = checked;
  const { name, config } = status;
  const state = ok ? "ok" : isHeld(status) && config.disabled ? "off" : "broken";
  const said: Partial<Remedy> =
    state === "broken"
      ? await findRemedy(status, error, more)
      : state === "off"
        ? { problem: status.reason }
        : {};
  return {
    name,
    state,
    status: status.status,
    ms,
    tools,
    tokens,
    source: config.origin.source,
    file: config.origin.file ?? null,
    ...said,
  };
}

/** Sorts working servers first, so that their numbers can be compared. */
function sortRows(servers: readonly Row[]): readonly Row[] {
  const order = ["ok", "broken", "off"];
  return servers.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
}

function createDoctorReport(
  gateway: Gateway,
  preset: Preset,
  servers: readonly Row[],
  findings: readonly Finding[],
) {
  const sum = (pick: (row: Row) => number): number => servers.reduce((all, row) => all + pick(row), 0);
  const isBroken =
    servers.some(({ state }) => state === "broken") || findings.some(({ severity }) => severity === "broken");
  return {
    ok: !isBroken,
    config: gateway.configFile ?? null,
    servers,
    findings,
    totals: {
      servers: servers.length,
      tools: sum(({ tools }) => tools),
      tokens: sum(({ tokens }) => tokens),
      tokensThroughToolpipe: estimatePreset(gateway, preset),
    },
  };
}

function describe({ ok, servers, findings, totals }: Report, gateway: Gateway): string {
  const width = Math.max(0, ...servers.map(({ name }) => toTerminalLine(name).length));
  const blocks = [
    servers.map((row) => describeRow(row, Math.min(width, 30))).join("\n"),
    findings.flatMap(describeFinding).join("\n"),
    servers.length === 0
      ? explainNoServers(gateway).trimEnd()
      : `${formatCount(totals.servers, "server")}, ${formatCount(totals.tools, "tool")}: about ${describeSaving(totals.tokens, totals.tokensThroughToolpipe)}.`,
    describeVerdict(ok, servers, findings),
  ];
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

function describeVerdict(ok: boolean, servers: readonly Row[], findings: readonly Finding[]): string {
  if (ok) return servers.length === 0 ? "" : "No problems found.";
  const broken =
    servers.filter(({ state }) => state === "broken").length +
    findings.filter(({ severity }) => severity === "broken").length;
  return broken === 1 ? "1 problem to fix: see ✗ above." : `${broken} problems to fix: see ✗ above.`;
}

function describeRow(row: Row, width: number): string {
  const name = toTerminalLine(row.name).padEnd(width);
  if (row.state === "ok") {
    const counts = `${formatCount(row.tools, "tool").padStart(9)}  ${formatNumber(row.tokens).padStart(7)} tokens`;
    return `✓ ${name}  ${counts}  ${formatDuration(row.ms ?? 0).padStart(7)}`;
  }
  if (row.state === "off") return `- ${name}  ${toTerminalLine(row.problem ?? "")}`;
  const time = row.ms === null || row.ms < 1_000 ? "" : ` (after ${formatDuration(row.ms)})`;
  return [
    `✗ ${name}  ${toTerminalLine(row.problem ?? "")}${time}`,
    `    → ${toTerminalLine(row.fix ?? "")}`,
  ].join("\n");
}

function describeFinding({ severity, problem, fix }: Finding): string[] {
  const mark = { broken: "✗", doubt: "!", note: "-" }[severity];
  return [`${mark} ${problem}`, ...(fix === undefined ? [] : [`    → ${fix}`])];
}

function formatDuration(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
