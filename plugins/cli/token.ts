import { createHash, randomBytes } from "node:crypto";
import { userInfo } from "node:os";
import type { CommandDef } from "citty";
import { localUser } from "../../core/mod.ts";
import type { StaticToken } from "../auth/mod.ts";
import { command } from "./_command.ts";
import { output } from "./_output.ts";
import { usageError } from "./_usage.ts";

const DAY_MS = 86_400_000;
const MAX_DAYS = 36_500;
/** As many as nobody can guess. */
const TOKEN_BYTES = 32;

/** Makes a token for somebody, which is shown once, and the lines of the config that let them in. */
export const token: CommandDef = command({
  name: "token",
  description: "Make a token for somebody who uses this gateway over HTTP, and the lines for the config",
  args: {
    actor: { type: "string", description: "Whose it is; you by default", valueHint: "NAME" },
    scopes: { type: "string", description: "What it is good for, with commas between", valueHint: "A,B" },
    days: { type: "string", description: "For so many days; for ever by default", valueHint: "N" },
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

/** Where the machine has no name for whoever sits here, as in a container, any will do. */
function ownName(): string {
  try {
    return userInfo().username || "me";
  } catch {
    return "me";
  }
}
