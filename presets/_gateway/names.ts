import { createHash } from "node:crypto";
import type { ToolNameStyle } from "./options.ts";

/** The longest name that every client takes. */
const LONGEST_NAME = 64;
const OWN = /\bgateway[._-](intent|execute|adapters|tools|reference)\b/g;
const separators: Readonly<Record<ToolNameStyle, string>> = { dot: ".", hyphen: "-", underscore: "_" };

/** A text in which the five tools are called as the clients of this gateway know them. */
export function spelled(text: string, style: ToolNameStyle): string {
  return style === "dot" ? text : text.replace(OWN, `gateway${separators[style]}$1`);
}

/**
 * A name for each operation where all of them are listed, in the order of their ids: `paystack__charge-create`. No id
 * of an adapter holds an underscore, so that two operations never share a name. What is too long ends in a hash of it.
 */
export function fullNames(ids: readonly string[]): string[] {
  const taken = new Set<string>();
  return ids.map((id) => {
    const whole = id.replace(":", "__");
    let name = whole;
    for (let digits = 8; name.length > LONGEST_NAME || taken.has(name); digits += 8) {
      const hash = createHash("sha256").update(id).digest("hex").slice(0, digits);
      name = `${whole.slice(0, LONGEST_NAME - digits - 1).replace(/[-_]+$/, "")}-${hash}`;
    }
    taken.add(name);
    return name;
  });
}
