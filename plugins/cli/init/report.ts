import type { OwnConfig } from "../../lib/config-file/own-config.ts";
import { counted, shownLine } from "../../lib/terminal/output.ts";
import { otherFiles } from "../anygpt-config.ts";
import { describeSaving, thousands } from "../cost.ts";
import { shellWord } from "../remedy.ts";
import type { Step } from "./changes.ts";
import type { Measured } from "./measure.ts";

/** What came of it: nothing to do, shown only, shown before the question, or written. */
export type Outcome = "nothing" | "shown" | "asked" | "written";

/** One client in the report. No value of any definition is in here. */
interface ClientReport {
  readonly client: string;
  readonly file: string;
  readonly moves: readonly {
    readonly name: string;
    readonly tools: number | null;
    readonly tokens: number | null;
    /** Whether our config has it already. */
    readonly isThere: boolean;
  }[];
  readonly stays: readonly { readonly name: string; readonly reason: string }[];
  /** What its agent reads of these servers now, and what it would read. */
  readonly tokens: number | null;
  readonly tokensThroughToolpipe: number | null;
  readonly changes: boolean;
  readonly broken?: string;
  readonly byHand?: { readonly reason: string; readonly paste: string };
}

/** What `init` has to say. */
export interface InitReport {
  readonly config: string;
  readonly added: readonly string[];
  readonly clients: readonly ClientReport[];
  /** Clients that were named and have no file here. */
  readonly missing: readonly string[];
}

/** What is known once everything is planned. */
export interface Known {
  readonly steps: readonly Step[];
  readonly added: readonly string[];
  readonly own: OwnConfig;
  readonly measured: Measured | undefined;
  readonly named: readonly string[];
}

/** Gathers what `init` has to say. */
export function reportOn({ steps, added, own, measured, named }: Known): InitReport {
  const found = new Set(steps.map(({ plan }) => plan.from.client));
  return {
    config: own.file,
    added,
    clients: steps.map((step) => clientReport(step, own, measured)),
    missing: named.filter((name) => !/[\\/.]/.test(name) && !found.has(name)),
  };
}

function clientReport(
  { plan, change, byHand }: Step,
  own: OwnConfig,
  measured: Measured | undefined,
): ClientReport {
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

/** The report as text. */
export function describeInit(report: InitReport, outcome: Outcome): string {
  const { clients, missing } = report;
  const shown = clients.filter(({ moves, stays, changes, broken, byHand }) =>
    [moves.length > 0, stays.length > 0, changes, broken, byHand].some(Boolean),
  );
  const blocks = [
    ...shown.map(describeClient),
    ...missing.map((client) => `${client}\n  It has no file of servers here.`),
    closing(report, outcome),
  ];
  return `${blocks.join("\n\n")}\n`;
}

function describeClient(client: ClientReport): string {
  const { moves, stays, tokens, tokensThroughToolpipe: through, byHand, broken, changes } = client;
  const width = Math.max(0, ...[...moves, ...stays].map(({ name }) => shownLine(name).length));
  const name = (text: string): string => shownLine(text).padEnd(Math.min(width, 30));
  return [
    `${client.client} (${client.file})`,
    ...(broken === undefined ? [] : [`  ✗ ${shownLine(broken)}`]),
    ...moves.map(
      (move) =>
        `  → ${byHand ? (move.isThere ? "done" : "copy") : "move"}  ${name(move.name)}${costOf(move)}`,
    ),
    ...stays.map((stay) => `  - stay  ${name(stay.name)}  ${shownLine(stay.reason)}`),
    ...(tokens === null || through === null ? [] : [`  About ${describeSaving(tokens, through)}.`]),
    ...(changes && moves.length === 0 ? ["  → its entry for toolpipe is brought up to date"] : []),
    ...(byHand
      ? byHandLines(
          byHand,
          moves.map((move) => shownLine(move.name)),
        )
      : []),
  ].join("\n");
}

function costOf({ tools, tokens }: ClientReport["moves"][number]): string {
  return tools === null || tokens === null
    ? ""
    : `  ${counted(tools, "tool").padStart(9)}  ${thousands(tokens).padStart(7)} tokens`;
}

function byHandLines(
  { reason, paste }: { reason: string; paste: string },
  names: readonly string[],
): string[] {
  const out = names.length > 0 ? `take out ${names.join(", ")}, and add` : "add";
  const how = `${reason} In it, ${out}:`;
  return [`  ${how}`, "", ...paste.split("\n").map((line) => `    ${line}`)];
}

function closing({ config, added, clients }: InitReport, outcome: Outcome): string {
  const isAny = clients.some(({ moves, stays }) => moves.length + stays.length > 0);
  if (outcome === "nothing") {
    if (clients.some(({ byHand }) => byHand)) return "Nothing is left for toolpipe to write.";
    return isAny
      ? "Nothing to move."
      : "Nothing to do: no client on this machine has a server that is not behind toolpipe already.";
  }
  const where = `${config}, which only you can read`;
  if (outcome === "written") {
    // Where it is not found by itself, it has to be named.
    const more = otherFiles(process.cwd()).includes(config) ? "" : ` --config ${shellWord(config)}`;
    return [
      `✓ Done. The servers are in ${where}. Restart your clients.`,
      `To see how they do: toolpipe doctor${more}`,
      "To put everything back: toolpipe init --undo",
    ].join("\n");
  }
  const what =
    added.length > 0
      ? `${counted(added.length, "definition")} go${added.length === 1 ? "es" : ""} to ${where}.`
      : "";
  const kept = `A copy of every file is kept first: "toolpipe init --undo" puts it back.`;
  const next = outcome === "shown" ? ["Nothing was changed. To write it: toolpipe init --yes"] : [];
  return [...(what ? [what] : []), kept, ...next].join("\n");
}
