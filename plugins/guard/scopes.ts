import type { Actor } from "../../core/mod.ts";

/** Additional scopes by actor id; `*` stands for every actor. */
export type GrantedScopes = Readonly<Record<string, readonly string[]>>;

/** Returns the required scopes that an actor lacks. */
export function missingScopes(
  actor: Actor,
  required: readonly string[],
  granted: GrantedScopes,
): readonly string[] {
  if (required.length === 0) return required;
  const own = Object.hasOwn(granted, actor.id) ? granted[actor.id] : undefined;
  const held = [...actor.scopes, ...(own ?? []), ...(granted["*"] ?? [])];
  return required.filter((scope) => !held.some((each) => covers(each, scope)));
}

/** `*` covers everything, and `payments:*` all that begins with `payments:`. */
function covers(held: string, scope: string): boolean {
  if (held === scope || held === "*") return true;
  return held.endsWith(":*") && scope.startsWith(held.slice(0, -1));
}
