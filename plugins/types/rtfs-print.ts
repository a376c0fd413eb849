import { rtfsName } from "./rtfs-text.ts";

/** The types of RTFS that are one word. */
export const rtfsWords = ["string", "int", "float", "bool", "any", "never"] as const;

/** A type of RTFS that is one word. */
export type RtfsWord = (typeof rtfsWords)[number];

/** One key of a map, and what is there. */
export interface RtfsEntry {
  readonly key: string;
  readonly optional: boolean;
  readonly type: RtfsType;
}

/** A type of RTFS. */
export type RtfsType =
  | { readonly kind: "word"; readonly word: RtfsWord }
  | { readonly kind: "vector"; readonly items: RtfsType }
  | { readonly kind: "tuple" | "union" | "and"; readonly members: readonly RtfsType[] }
  /** `others` is what is at keys that have no entry. */
  | { readonly kind: "map"; readonly entries: readonly RtfsEntry[]; readonly others?: RtfsType }
  | { readonly kind: "map-of"; readonly values: RtfsType };

/**
 * Writes a type of RTFS. Each entry of a map has a line of its own, two steps further in than the line that the map
 * begins on, which is so many steps in.
 */
export function printRtfsType(type: RtfsType, indent = 0): string {
  if (type.kind === "word") return `:${type.word}`;
  if (type.kind === "vector") return `[:vector ${printRtfsType(type.items, indent)}]`;
  if (type.kind === "map-of") return `[:map-of :string ${printRtfsType(type.values, indent)}]`;
  const inner = indent + 2;
  const line = `\n${" ".repeat(inner)}`;
  if (type.kind === "map") {
    const entries = type.entries.map(
      ({ key, optional, type: value }) =>
        `${line}[${rtfsName(key)}${optional ? " {:optional true}" : ""} ${printRtfsType(value, inner)}]`,
    );
    if (type.others) entries.push(`${line}[:* ${printRtfsType(type.others, inner)}]`);
    return `[:map${entries.join("")}]`;
  }
  const members = type.members.map((member) => printRtfsType(member, inner));
  const isLong = members.some((member) => member.includes("\n"));
  return `[:${type.kind}${members.map((member) => (isLong ? line : " ") + member).join("")}]`;
}
