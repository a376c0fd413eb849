import type { RtfsEntry, RtfsType, RtfsWord } from "./rtfs-print.ts";

/** The type that allows everything. */
export const ANY: RtfsType = word("any");

/** A type that is one word. */
export function word(name: RtfsWord): RtfsType {
  return { kind: "word", word: name };
}

/** One of several types. One that allows everything leaves nothing to say. */
export function unionOf(types: readonly RtfsType[]): RtfsType {
  if (types.length === 1) return types[0] as RtfsType;
  const flat = types.flatMap((type) => (type.kind === "union" ? type.members : [type]));
  if (flat.length === 0 || flat.some(isAny)) return ANY;
  const members = distinct(flat).filter((type) => !isWord(type, "never"));
  return members.length > 1 ? { kind: "union", members } : (members[0] ?? word("never"));
}

/** All of several types at once: maps become one map, and one that says nothing is left out. */
export function allOf(types: readonly RtfsType[]): RtfsType {
  if (types.length === 1) return types[0] as RtfsType;
  const flat = types.flatMap((type) => (type.kind === "and" ? type.members : [type]));
  const telling = flat.filter((type) => !isAny(type));
  const maps = telling.filter((type) => type.kind === "map");
  const others = distinct(telling.filter((type) => type.kind !== "map"));
  const whole = others.some((type) => isWord(type, "int"));
  const members = [
    ...(maps.length > 0 ? [maps.reduce(merged)] : []),
    ...others.filter((type) => !(whole && isWord(type, "float"))),
  ];
  return members.length > 1 ? { kind: "and", members } : (members[0] ?? ANY);
}

type RtfsMap = Extract<RtfsType, { kind: "map" }>;

function merged(a: RtfsMap, b: RtfsMap): RtfsMap {
  const entries = new Map<string, RtfsEntry>(a.entries.map((entry) => [entry.key, entry]));
  for (const entry of b.entries) {
    const other = entries.get(entry.key);
    if (!other) entries.set(entry.key, entry);
    else {
      const optional = other.optional && entry.optional;
      entries.set(entry.key, { key: entry.key, optional, type: allOf([other.type, entry.type]) });
    }
  }
  const rest = [a, b].flatMap(({ others }) => (others ? [others] : []));
  return { kind: "map", entries: [...entries.values()], ...(rest.length > 0 ? { others: allOf(rest) } : {}) };
}

function distinct(types: readonly RtfsType[]): readonly RtfsType[] {
  if (types.length < 2) return types;
  const seen = new Map<string, RtfsType>();
  for (const type of types) {
    const text = JSON.stringify(type);
    if (!seen.has(text)) seen.set(text, type);
  }
  return [...seen.values()];
}

function isAny(type: RtfsType): boolean {
  return isWord(type, "any");
}

function isWord(type: RtfsType, name: RtfsWord): boolean {
  return type.kind === "word" && type.word === name;
}
