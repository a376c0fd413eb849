/** Types joined by `|`, each once. One that allows everything leaves nothing to say. */
export function union(types: readonly string[]): string {
  const distinct = [...new Set(types)].filter((type, _, all) => type !== "never" || all.length === 1);
  if (distinct.length === 0 || distinct.includes("unknown")) return "unknown";
  return distinct.join(" | ");
}

/** Types joined by `&`, each once. One that says nothing is left out. */
export function intersection(types: readonly string[]): string {
  const telling = [...new Set(types)].filter((type) => type !== "unknown");
  if (telling.length <= 1) return telling[0] ?? "unknown";
  return telling.map((type) => (isJoined(type) ? `(${type})` : type)).join(" & ");
}

/** The type of a list of such items. */
export function listOf(item: string): string {
  return isJoined(item) ? `(${item})[]` : `${item}[]`;
}

/** Whether a type is several ones joined, and not only holds such inside of it. */
function isJoined(type: string): boolean {
  let depth = 0;
  let isText = false;
  for (let index = 0; index < type.length; index++) {
    const character = type[index] as string;
    if (isText && character === "\\") index++;
    else if (character === "'") isText = !isText;
    else if (isText) continue;
    else if ("{[(<".includes(character)) depth++;
    else if ("}])>".includes(character)) depth--;
    else if (depth === 0 && (character === "|" || character === "&")) return true;
  }
  return false;
}
