/** Longer ones would not fit into the tool names that clients accept. */
const LONGEST = 200;

/**
 * The id a server gets from the name it was given: no colon, which separates server and tool, and nothing that
 * cannot be seen, because two names that look alike must be alike. Undefined where nothing is left.
 */
export function serverName(given: unknown): string | undefined {
  if (typeof given !== "string" || given.length > LONGEST) return undefined;
  const name = given
    .replace(/\s+/gu, " ")
    // Controls, zero-width and direction marks, halves of surrogate pairs, fillers.
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}]/gu, "")
    .normalize("NFC")
    .replaceAll(":", "-")
    .replace(/\s+/gu, " ")
    .trim();
  return name === "" ? undefined : name;
}
