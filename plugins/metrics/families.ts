/** One figure of a family that is read when it is asked for. */
export interface Reading {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Counts what happens, by its labels. */
export interface Counter {
  add(labels: readonly string[], by?: number): void;
}

/** Counts values by how large they are, by their labels. */
export interface Histogram {
  observe(labels: readonly string[], value: number): void;
}

/** What a family is called, and what it tells. */
export interface FamilyFacts {
  readonly name: string;
  readonly help: string;
}

/** A family whose figures are kept by the names of its labels. */
export interface LabelledFacts extends FamilyFacts {
  readonly labels: readonly string[];
}

/** All families of metrics of one gateway. */
export interface Families {
  counter(facts: LabelledFacts): Counter;
  histogram(facts: LabelledFacts & { readonly buckets: readonly number[] }): Histogram;
  /** A family whose figures somebody else keeps. */
  reading(facts: FamilyFacts & { readonly type: "gauge" | "counter"; read(): readonly Reading[] }): void;
  /** Everything as Prometheus reads it. */
  text(): string;
}

interface Kept<T> {
  of(labels: readonly string[]): T;
  entries(): Iterable<readonly [labels: readonly string[], value: T]>;
}

interface Buckets {
  readonly counts: number[];
  sum: number;
  count: number;
}

/** Where a family has as many figures as it may, all that is new is one. */
const OTHER = "other";
/** No name that a person gives is longer. */
const MAX_LABEL = 120;

/**
 * Makes a set of families. Each keeps `maxSeries` figures at most: whoever names servers, tools or errors must not decide
 * how much memory that takes here, and in whatever reads it.
 */
export function createFamilies(maxSeries: number): Families {
  const families: (() => string[])[] = [];

  const add = ({ name, help }: FamilyFacts, type: string, lines: () => string[]): void => {
    const head = [`# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`];
    families.push(() => [...head, `# TYPE ${name} ${type}`, ...lines()]);
  };

  return {
    counter(facts) {
      const kept = keep(maxSeries, () => ({ value: 0 }));
      add(facts, "counter", () =>
        [...kept.entries()].map(([labels, { value }]) =>
          line(facts.name, pairs(facts.labels, labels), value),
        ),
      );
      return {
        add(labels, by = 1) {
          kept.of(labels).value += by;
        },
      };
    },
    histogram(facts) {
      const { name, buckets } = facts;
      const kept = keep(maxSeries, (): Buckets => ({ counts: buckets.map(() => 0), sum: 0, count: 0 }));
      add(facts, "histogram", () =>
        [...kept.entries()].flatMap(([labels, { counts, sum, count }]) => {
          const own = pairs(facts.labels, labels);
          let below = 0;
          const lines = buckets.map((edge, index) => {
            below += counts[index] ?? 0;
            return line(`${name}_bucket`, { ...own, le: String(edge) }, below);
          });
          return [
            ...lines,
            line(`${name}_bucket`, { ...own, le: "+Inf" }, count),
            line(`${name}_sum`, own, sum),
            line(`${name}_count`, own, count),
          ];
        }),
      );
      return {
        observe(labels, value) {
          const one = kept.of(labels);
          const at = buckets.findIndex((edge) => value <= edge);
          if (at >= 0) one.counts[at] = (one.counts[at] ?? 0) + 1;
          one.sum += value;
          one.count++;
        },
      };
    },
    reading({ type, read, ...facts }) {
      add(facts, type, () =>
        read()
          .slice(0, maxSeries)
          .map(({ labels = {}, value }) => line(facts.name, labels, value)),
      );
    },
    text: () => `${families.flatMap((lines) => lines()).join("\n")}\n`,
  };
}

function keep<T>(most: number, make: () => T): Kept<T> {
  const all = new Map<string, readonly [labels: readonly string[], value: T]>();
  return {
    of(given) {
      const key = given.join("\u0000");
      const known = all.get(key);
      if (known) return known[1];
      const isFull = all.size >= most - 1;
      const labels = isFull ? given.map(() => OTHER) : given;
      const place = isFull ? labels.join("\u0000") : key;
      const entry = all.get(place) ?? ([labels, make()] as const);
      all.set(place, entry);
      return entry[1];
    },
    entries: () => all.values(),
  };
}

function pairs(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? ""]));
}

function line(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const written = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
  return `${name}${written.length > 0 ? `{${written.join(",")}}` : ""} ${Number.isFinite(value) ? value : "NaN"}`;
}

/** As the format wants it, and nothing in it that steers a terminal. */
function escaped(text: string): string {
  return text
    .slice(0, MAX_LABEL)
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("\n", "\\n")
    .replace(/[\p{Cc}\p{Cs}]/gu, "�");
}
