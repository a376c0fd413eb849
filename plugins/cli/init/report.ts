import type { OwnConfig } from "../../lib/config-file/changes.ts";
import { formatCount, quoteForShell, toTerminalLine } from "../../lib/terminal/output.ts";
import { otherFiles } from "../config-files.ts";
import { describeSaving, formatNumber } from "../cost.ts";
import type { Step } from "./changes.ts";

/** Outcome: nothing to do, only printed, printed before the confirmation, or written. */
export type Outcome = "nothing" | "shown" | "asked" | "written";

/** Token counts of servers, and the servers that failed. */
export interface Measured {
  readonly servers: ReadonlyMap<string, { readonly tools: number; readonly tokens: number }>;
  readonly failed: ReadonlyMap<string, string>;
  /** Tokens of the preset that replaces them. */
  readonly through: number;
}

/** Report of one client. It holds no values of entries, which may be secrets. */
type ClientReport = ReturnType<typeof createClientReport>;

/** Report of `init`. */
export type InitReport = ReturnType<typeof createInitReport>;

/** Creates the report. */
export function createInitReport(
  steps: readonly Step[],
  added: readonly string[],
  own: OwnConfig,
  measured: Measured | undefined,
  named: readonly string[],
) {
  const found = new Set(steps.map(({ plan }) => plan.from.client));
  return {
    config: own.file,
    added,
    clients: steps.map((step) => createClientReport(step, own, measured)),
    missing: named.filter((name) => !/[\\/.]/.test(name) && !found.has(name)),
  };
}

function createClientReport({ plan, change, byHand }: Step, own: OwnConfig, measured: Measured | undefined) {
  const { from, moves, stays } = plan;
  const rows = moves.map(({ name, as }) => {
    const cost = measured?.servers.get(as);
    const isThere = Object.hasOwn(own.servers, as);
    return { name, tools: cost?.tools ?? null, tokens: cost?.tokens ?? null, isThere };
  });
  const isMeasured = measured !== undefined && rows.length > 0 && rows.every(({ tokens }) => tokens !== null);
  return {
    client: from.client,
    file: from.file,
    moves: rows,
    stays,
    tokens: isMeasured ? rows.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0) : null,
    tokensThroughToolpipe: isMeasured ? measured.through : null,
    changes: change !== undefined,
    ...(from.broken !== undefined && { broken: from.broken }),
    ...(byHand && { byHand }),
  };
}

/** Formats the report for a terminal. */
export function describeInit(report: InitReport, outcome: Outcome): string {
  const { clients, missing } = report;
  const shown = clients.filter(({ moves, stays, changes, broken, byHand }) =>
    [moves.length > 0, stays.length > 0, changes, broken, byHand].some(Boolean),
  );
  const blocks = [
    ...shown.map(describeClient),
    ...missing.map((client) => `${client}\n  No file of this client was found.`),
    describeOutcome(report, outcome),
  ];
  return `${blocks.join("\n\n")}\n`;
}

function describeClient(client: ClientReport): string {
  const { moves, stays, tokens, tokensThroughToolpipe: through, byHand, broken, changes } = client;
  const width = Math.max(0, ...[...moves, ...stays].map(({ name }) => toTerminalLine(name).length));
  const name = (value: string): string => toTerminalLine(value).padEnd(Math.min(width, 30));
  return [
    `${client.client} (${client.file})`,
    ...(broken === undefined ? [] : [`  ✗ ${toTerminalLine(broken)}`]),
    ...moves.map(
      (move) =>
        `  → ${byHand ? (move.isThere ? "done" : "copy") : "move"}  ${name(move.name)}${formatCost(move)}`,
    ),
    ...stays.map((stay) => `  - stay  ${name(stay.name)}  ${toTerminalLine(stay.reason)}`),
    ...(tokens === null || through === null ? [] : [`  About ${describeSaving(tokens, through)}.`]),
    ...(changes && moves.length === 0 ? ["  → its entry for toolpipe is brought up to date"] : []),
    ...(byHand
      ? describeByHand(
          byHand,
          moves.map((move) => toTerminalLine(move.name)),
        )
      : []),
  ].join("\n");
}

function formatCost({ tools, tokens }: ClientReport["moves"][number]): string {
  return tools === null || tokens === null
    ? ""
    : `  ${formatCount(tools, "tool").padStart(9)}  ${formatNumber(tokens).padStart(7)} tokens`;
}

function describeByHand(
  { reason, paste }: { reason: string; paste: string },
  names: readonly string[],
): string[] {
  const out = names.length > 0 ? `remove ${names.join(", ")} and add` : "add";
  const how = `${reason} In it, ${out}:`;
  return [`  ${how}`, "", ...paste.split("\n").map((line) => `    ${line}`)];
}

function describeOutcome({ config, added, clients }: InitReport, outcome: Outcome): string {
  const isAny = clients.some(({ moves, stays }) => moves.length + stays.length > 0);
  if (outcome === "nothing") {
    if (clients.some(({ byHand }) => byHand)) return "Nothing is left for toolpipe to write.";
    return isAny
      ? "Nothing to move."
      : "Nothing to do: no client on this machine has a server that is not behind toolpipe already.";
  }
  const where = `${config}, which only you can read`;
  if (outcome === "written") {
    // Other files are not found without --config.
    const more = otherFiles(process.cwd()).includes(config) ? "" : ` --config ${quoteForShell(config)}`;
    return [
      `✓ Done. The servers are in ${where}. Restart your clients.`,
      `To check the servers: toolpipe doctor${more}`,
      "To undo: toolpipe init --undo",
    ].join("\n");
  }
  const what =
    added.length > 0
      ? `${formatCount(added.length, "definition")} go${added.length === 1 ? "es" : ""} to ${where}.`
      : "";
  const kept = `A copy of every file is kept: "toolpipe init --undo" restores it.`;
  const next = outcome === "shown" ? ["Nothing was changed. To write the changes: toolpipe init --yes"] : [];
  return [...(what ? [what] : []), kept, ...next].join("\n");
}
