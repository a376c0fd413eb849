import { createHash } from "node:crypto";
import { type AuthOptions, auth } from "../../plugins/auth/mod.ts";

/** Two people with tokens: `tp_ann` and `tp_bob`. */
export const people: AuthOptions = {
  tokens: ["ann", "bob"].map((actor) => ({ sha256: sha256(`tp_${actor}`), actor, scopes: [`of:${actor}`] })),
};

/** Lets only them in. */
export const onlyPeople: ReturnType<typeof auth> = auth(people);

/** Headers of a request of a user. */
export function by(actor: string): { headers: Record<string, string> } {
  return { headers: { authorization: `Bearer tp_${actor}` } };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
