import { type Gateway, GatewayError, type LoadedConfig, type Preset } from "../../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../../core/services/command.ts";
import { counted, output, shownLine } from "../../lib/terminal/output.ts";
import { isHeld, noServers } from "../../lib/terminal/servers.ts";
import { loadCliConfig, withGateway } from "../context.ts";
import { costThrough, describeSaving, thousands } from "../cost.ts";
import { type Remedy, remedyOf, shellWord } from "../remedy.ts";
import { type Checked, checkServers, hearFailures, timedConfig } from "./checkup.ts";
import { type Finding, findingsOf } from "./findings.ts";

/** Something is broken. */
const BROKEN = 1;

/** One server in the report. */
interface Row {
  readonly name: string;
  readonly state: "ok" | "broken" | "off";
  readonly status: string;
  readonly ms: number | null;
  readonly tools: number;
  readonly tokens: number;
  readonly source: string;
  readonly file: string | null;
  readonly problem?: string;
  readonly fix?: string;
}

interface Report {
  readonly ok: boolean;
  readonly config: string | null;
  readonly servers: readonly Row[];
  readonly findings: readonly Finding[];
  readonly totals: {
    readonly servers: number;
    readonly tools: number;
    readonly tokens: number;
    readonly tokensThroughToolpipe: number;
  };
}

/** Starts every server, times it, counts what it would cost, and says what is broken and how to mend it. */
export const doctor: Command = defineCommand({
  args: { json: { type: "boolean", description: "Print JSON" }, ...configArgs },
  async run(given) {
    const print = (report: Report, text: () => string): number => {
      output(given.json, report, text);
      return report.ok ? 0 : BROKEN;
    };
    const config = await loadOrFail(given);
    if (GatewayError.is(config)) {
      const report = brokenConfig(config);
      return print(report, () => `${report.findings.flatMap(findingLines).join("\n")}\n`);
    }
    const failures = hearFailures();
    return withGateway(
      timedConfig(config),
      async (gateway) => {
        const checked = await checkServers(gateway, failures);
        const more = given.config === undefined ? "" : ` --config ${shellWord(given.config)}`;
        const servers = await Promise.all(checked.map((one) => rowOf(one, more)));
        const report = reportOn(gateway, config.preset, inOrder(servers), await findingsOf(gateway));
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
    // A wrong command line is no illness.
    if (GatewayError.is(thrown) && thrown.code !== "USAGE") return thrown;
    throw thrown;
  }
}

function brokenConfig({ message, data }: GatewayError): Report {
  const file = typeof data["file"] === "string" ? data["file"] : null;
  const finding: Finding = {
    severity: "broken",
    code: "CONFIG_INVALID",
    problem: shownLine(message),
    fix: "Correct it there: without its config, toolpipe knows of no server.",
  };
  const totals = { servers: 0, tools: 0, tokens: 0, tokensThroughToolpipe: 0 };
  return { ok: false, config: file, servers: [], findings: [finding], totals };
}

async function rowOf(checked: Checked, more: string): Promise<Row> {
  const { status, ok, ms = null, tools, tokens, error } = checked;
  const { name, config } = status;
  const state = ok ? "ok" : isHeld(status) && config.disabled ? "off" : "broken";
  const said: Partial<Remedy> =
    state === "broken"
      ? await remedyOf(status, error, more)
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

/** What works stands together, so that it can be compared. */
function inOrder(servers: readonly Row[]): readonly Row[] {
  const order = ["ok", "broken", "off"];
  return servers.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
}

function reportOn(
  gateway: Gateway,
  preset: Preset,
  servers: readonly Row[],
  findings: readonly Finding[],
): Report {
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
      tokensThroughToolpipe: costThrough(gateway, preset),
    },
  };
}

function describe({ ok, servers, findings, totals }: Report, gateway: Gateway): string {
  const width = Math.max(0, ...servers.map(({ name }) => shownLine(name).length));
  const blocks = [
    servers.map((row) => describeRow(row, Math.min(width, 30))).join("\n"),
    findings.flatMap(findingLines).join("\n"),
    servers.length === 0
      ? noServers(gateway).trimEnd()
      : `${counted(totals.servers, "server")}, ${counted(totals.tools, "tool")}: about ${describeSaving(totals.tokens, totals.tokensThroughToolpipe)}.`,
    verdict(ok, servers, findings),
  ];
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

function verdict(ok: boolean, servers: readonly Row[], findings: readonly Finding[]): string {
  if (ok) return servers.length === 0 ? "" : "All is well.";
  const broken =
    servers.filter(({ state }) => state === "broken").length +
    findings.filter(({ severity }) => severity === "broken").length;
  return broken === 1 ? "1 thing needs mending: see ✗ above." : `${broken} things need mending: see ✗ above.`;
}

function describeRow(row: Row, width: number): string {
  const name = shownLine(row.name).padEnd(width);
  if (row.state === "ok") {
    const counts = `${counted(row.tools, "tool").padStart(9)}  ${thousands(row.tokens).padStart(7)} tokens`;
    return `✓ ${name}  ${counts}  ${seconds(row.ms ?? 0).padStart(7)}`;
  }
  if (row.state === "off") return `- ${name}  ${shownLine(row.problem ?? "")}`;
  const time = row.ms === null || row.ms < 1_000 ? "" : ` (after ${seconds(row.ms)})`;
  return [`✗ ${name}  ${shownLine(row.problem ?? "")}${time}`, `    → ${shownLine(row.fix ?? "")}`].join(
    "\n",
  );
}

function findingLines({ severity, problem, fix }: Finding): string[] {
  const mark = { broken: "✗", doubt: "!", note: "-" }[severity];
  return [`${mark} ${problem}`, ...(fix === undefined ? [] : [`    → ${fix}`])];
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
