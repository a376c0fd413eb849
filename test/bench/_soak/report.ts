import type { Trend } from "./verdict.ts";

/** The outcome of a run. */
export interface Report {
  readonly seconds: number;
  /** How often what was done, by the gateway and the act. */
  readonly done: Readonly<Record<string, number>>;
  readonly gateways: readonly {
    readonly name: string;
    readonly trends: readonly Trend[];
    readonly cpuMsACall: number;
  }[];
  /** Why a run is not passed. */
  readonly faults: readonly string[];
}

/** A run in words and tables. */
export function shownReport({ seconds, done, gateways, faults }: Report): string {
  const counts = Object.entries(done);
  const sum = (all: readonly [string, number][]): number =>
    all.reduce((total, [, count]) => total + count, 0);
  const calls = sum(counts);
  const bad = sum(counts.filter(([name]) => name.includes("fault: ")));
  return [
    `${calls} calls in ${seconds.toFixed(0)} s, ${bad} of them with a fault (${((100 * bad) / calls).toFixed(1)} %).`,
    table(
      ["what was done", ...gateways.map(({ name }) => name)],
      listActs(counts).map((act) => [
        act,
        ...gateways.map(({ name }) => String(done[`${name}, ${act}`] ?? 0)),
      ]),
    ),
    ...gateways.map(({ name, trends, cpuMsACall }) =>
      [
        `${name} (${cpuMsACall.toFixed(1)} ms of CPU a call)\n`,
        table(
          ["held while no call is pending", "after warm-up", "at the end", "growth", "allowed", "an hour"],
          trends.map((trend) => [
            `${trend.isFine ? "" : "GREW: "}${trend.name}`,
            ...[trend.first, trend.last, trend.growth, trend.allowed, trend.perHour].map((value) =>
              value.toFixed(1),
            ),
          ]),
        ),
      ].join("\n"),
    ),
    faults.length === 0 ? "Nothing grew, leaked or stayed." : faults.map((fault) => `- ${fault}`).join("\n"),
    "",
  ].join("\n\n");
}

/** Why the trends of a gateway are not passed. */
export function describeGrowth(name: string, trends: readonly Trend[]): string[] {
  return trends
    .filter(({ isFine }) => !isFine)
    .map(
      ({ name: what, growth, allowed }) =>
        `${name}: ${what} grew by ${growth.toFixed(1)}, and ${allowed.toFixed(1)} is allowed`,
    );
}

function listActs(counts: readonly [string, number][]): string[] {
  return [...new Set(counts.map(([name]) => name.slice(name.indexOf(", ") + 2)))].toSorted();
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), `|---${"|--:".repeat(head.length - 1)}|`, ...rows.map(line)].join("\n");
}
