import { randomBytes } from "node:crypto";
import { userInfo } from "node:os";
import { localUser } from "../../../core/mod.ts";
import { defineCommand } from "../../../core/services/command.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { output, usageError } from "../../lib/terminal/output.ts";
import type { StaticToken } from "../mod.ts";

const DAY_MS = 86_400_000;
const MAX_DAYS = 36_500;
const TOKEN_BYTES = 32;

/** Creates a token, which is shown once, and the lines of the config that accept it. */
export const command = defineCommand({
  args: {
    actor: { type: "string", description: "Whose it is; you by default", valueHint: "NAME" },
    scopes: { type: "string", description: "Its scopes, separated by commas", valueHint: "A,B" },
    days: { type: "string", description: "Days until it expires; never by default", valueHint: "N" },
    json: { type: "boolean", description: "Print JSON" },
  },
  async run({ actor = userName(), scopes, days, json }) {
    if (actor.trim() === "") throw usageError("The option --actor needs a name.");
    const made = `tp_${randomBytes(TOKEN_BYTES).toString("base64url")}`;
    const entry = {
      sha256: sha256Hex(made),
      actor,
      ...(scopes !== undefined && { scopes: parseScopes(scopes) }),
      ...(days !== undefined && { expires: parseExpiry(days) }),
    };
    output(json, { token: made, config: { auth: { tokens: [entry] } } }, () => describe(made, entry));
  },
});

function describe(made: string, entry: StaticToken): string {
  const lines = [
    `A token for ${entry.actor}. It is printed once and not stored:`,
    "",
    `  ${made}`,
    "",
    "Add its hash to the config, beside other tokens if there are any:",
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

function parseScopes(given: string): string[] {
  const scopes = given.split(/[\s,]+/).filter(Boolean);
  if (scopes.length === 0) throw usageError("The option --scopes needs at least one scope.");
  return scopes;
}

function parseExpiry(given: string): string {
  const days = Number(given);
  if (given.trim() === "" || !(days > 0) || days > MAX_DAYS)
    throw usageError(`The option --days needs a number between 0 and ${MAX_DAYS}.`);
  return new Date(Date.now() + days * DAY_MS).toISOString();
}

/** The name of the user; a container may have none. */
function userName(): string {
  try {
    return userInfo().username || "me";
  } catch {
    return "me";
  }
}
