import { createHash, randomBytes } from "node:crypto";
import { userInfo } from "node:os";
import { localUser } from "../../../core/mod.ts";
import { type Command, defineCommand } from "../../../core/services/command.ts";
import { output, usageError } from "../../lib/terminal/output.ts";
import type { StaticToken } from "../mod.ts";

const DAY_MS = 86_400_000;
const MAX_DAYS = 36_500;
/** Too many to guess. */
const TOKEN_BYTES = 32;

/** Creates a token, which is shown once, and the lines of the config that accept it. */
export const token: Command = defineCommand({
  args: {
    actor: { type: "string", description: "Whose it is; you by default", valueHint: "NAME" },
    scopes: { type: "string", description: "Its scopes, separated by commas", valueHint: "A,B" },
    days: { type: "string", description: "Days until it expires; never by default", valueHint: "N" },
    json: { type: "boolean", description: "Print JSON" },
  },
  async run({ actor = ownName(), scopes, days, json }) {
    if (actor.trim() === "") throw usageError("The option --actor needs a name.");
    const made = `tp_${randomBytes(TOKEN_BYTES).toString("base64url")}`;
    const entry = {
      sha256: createHash("sha256").update(made).digest("hex"),
      actor,
      ...(scopes !== undefined && { scopes: scopesIn(scopes) }),
      ...(days !== undefined && { expires: expiryIn(days) }),
    };
    output(json, { token: made, config: { auth: { tokens: [entry] } } }, () => describe(made, entry));
  },
});

function describe(made: string, entry: StaticToken): string {
  const lines = [
    `A token for ${entry.actor}. It is shown only now, and kept nowhere:`,
    "",
    `  ${made}`,
    "",
    "What goes into the config, where only its hash stands; where there are tokens already, beside them:",
    "",
    `  "auth": { "tokens": [`,
    `    ${JSON.stringify(entry)}`,
    `  ] }`,
    "",
    `A client sends it as a header, "Authorization: Bearer TOKEN".`,
    ...(entry.actor === localUser.id
      ? [
          `! "${localUser.id}" is also the user of this machine, who has every scope unless the guard says otherwise.`,
        ]
      : []),
    "",
  ];
  return lines.join("\n");
}

function scopesIn(given: string): readonly string[] {
  const scopes = given.split(/[\s,]+/).filter(Boolean);
  if (scopes.length === 0) throw usageError("The option --scopes needs at least one scope.");
  return scopes;
}

function expiryIn(given: string): string {
  const days = Number(given);
  if (given.trim() === "" || !(days > 0) || days > MAX_DAYS)
    throw usageError(`The option --days needs a number between 0 and ${MAX_DAYS}.`);
  return new Date(Date.now() + days * DAY_MS).toISOString();
}

/** The name of the user; a container may have none. */
function ownName(): string {
  try {
    return userInfo().username || "me";
  } catch {
    return "me";
  }
}
