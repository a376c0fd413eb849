/** Name and help string of a metric family. */
interface FamilyInfo {
  readonly name: string;
  readonly help: string;
}

interface LabeledFamily extends FamilyInfo {
  readonly labels: readonly string[];
}

/** The metric families of one gateway. */
export interface Families {
  counter(info: LabeledFamily): { add(labels: readonly string[], by?: number): void };
  histogram(info: LabeledFamily & { readonly buckets: readonly number[] }): {
    observe(labels: readonly string[], value: number): void;
  };
  /** Adds a family whose values are read when metrics are collected. */
  gauge(
    info: FamilyInfo & {
      readonly type: "gauge" | "counter";
      read(): readonly { readonly labels?: Readonly<Record<string, string>>; readonly value: number }[];
    },
  ): void;
  /** Formats all families for Prometheus. */
  text(): string;
}

interface Series<T> {
  get(labels: readonly string[]): T;
  entries(): Iterable<readonly [labels: readonly string[], value: T]>;
}

/** The label of all new series once a family is full. */
const OTHER = "other";
/** The longest label value. */
const MAX_LABEL = 120;

/**
 * Creates a set of families of at most `maxSeries` series each: names of servers, tools and errors come from others, who
 * must not decide how much memory they take here and in Prometheus.
 */
export function createFamilies(maxSeries: number): Families {
  const families: (() => string[])[] = [];

  const add = ({ name, help }: FamilyInfo, type: string, lines: () => string[]): void => {
    const head = [`# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`];
    families.push(() => [...head, `# TYPE ${name} ${type}`, ...lines()]);
  };

  return {
    counter(info) {
      const series = createSeries(maxSeries, () => ({ value: 0 }));
      add(info, "counter", () =>
        [...series.entries()].map(([labels, { value }]) =>
          formatLine(info.name, toLabels(info.labels, labels), value),
        ),
      );
      return {
        add(labels, by = 1) {
          series.get(labels).value += by;
        },
      };
    },
    histogram(info) {
      const { name, buckets } = info;
      const series = createSeries(maxSeries, (): { counts: number[]; sum: number; count: number } => ({
        counts: buckets.map(() => 0),
        sum: 0,
        count: 0,
      }));
      add(info, "histogram", () =>
        [...series.entries()].flatMap(([labels, { counts, sum, count }]) => {
          const own = toLabels(info.labels, labels);
          let below = 0;
          const lines = buckets.map((edge, index) => {
            below += counts[index] ?? 0;
            return formatLine(`${name}_bucket`, { ...own, le: String(edge) }, below);
          });
          return [
            ...lines,
            formatLine(`${name}_bucket`, { ...own, le: "+Inf" }, count),
            formatLine(`${name}_sum`, own, sum),
            formatLine(`${name}_count`, own, count),
          ];
        }),
      );
      return {
        observe(labels, value) {
          const one = series.get(labels);
          const at = buckets.findIndex((edge) => value <= edge);
          if (at >= 0) one.counts[at] = (one.counts[at] ?? 0) + 1;
          one.sum += value;
          one.count++;
        },
      };
    },
    gauge({ type, read, ...info }) {
      add(info, type, () =>
        read()
          .slice(0, maxSeries)
          .map(({ labels = {}, value }) => formatLine(info.name, labels, value)),
      );
    },
    text: () => `${families.flatMap((lines) => lines()).join("\n")}\n`,
  };
}

function createSeries<T>(max: number, make: () => T): Series<T> {
  const all = new Map<string, readonly [labels: readonly string[], value: T]>();
  return {
    get(given) {
      const key = given.join("\u0000");
      const known = all.get(key);
      if (known) return known[1];
      const isFull = all.size >= max - 1;
      const labels = isFull ? given.map(() => OTHER) : given;
      const place = isFull ? labels.join("\u0000") : key;
      const entry = all.get(place) ?? ([labels, make()] as const);
      all.set(place, entry);
      return entry[1];
    },
    entries: () => all.values(),
  };
}

function toLabels(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? ""]));
}

function formatLine(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const written = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
  return `${name}${written.length > 0 ? `{${written.join(",")}}` : ""} ${Number.isFinite(value) ? value : "NaN"}`;
}

/** Escapes a label value for the format, and removes control characters. */
function escapeLabel(text: string): string {
  return text
    .slice(0, MAX_LABEL)
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("\n", "\\n")
    .replace(/[\p{Cc}\p{Cs}]/gu, "�");
}
