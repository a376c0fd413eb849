import { createInterface } from "node:readline/promises";
import type { ServerNeed } from "../../lib/server-entry/server-json.ts";
import { parsePairs } from "../../lib/terminal/output.ts";
import { toLine } from "../entry.ts";
import type { Given } from "../install.ts";

const KINDS: Readonly<Record<ServerNeed["kind"], string>> = {
  env: "variable",
  header: "header",
  argument: "argument",
  url: "part of its URL",
};

/** Formats a setting of a server as one line. */
export function describeNeed(need: ServerNeed): string {
  const { kind, name, description, isRequired, isSecret, choices } = need;
  const facts = [
    KINDS[kind],
    ...(isRequired ? ["required"] : []),
    ...(isSecret ? ["secret"] : []),
    ...(need.default === undefined ? [] : [`${toLine(need.default, 100)} if not given`]),
  ];
  const about = description ? `: ${toLine(description, 300)}` : "";
  const among = choices && choices.length > 0 ? ` One of ${toLine(choices.join(", "), 300)}.` : "";
  return `  ${toLine(name, 100)} (${facts.join(", ")})${about}${among}`;
}

/** Collects the values of the repeatable options `--env`, `--header` and `--arg`. */
export function parseGiven(typed: readonly string[]): Given {
  return {
    env: parsePairs(typed, "env", "="),
    headers: parsePairs(typed, "header", ":"),
    arguments: parsePairs(typed, "arg", "="),
  };
}

/** Asks a question at the terminal. */
async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return (await terminal.question(question)).trim();
  } finally {
    terminal.close();
  }
}

/** Asks for a yes. */
export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(question));
}

/** Asks for the settings of a server that are no secrets; undefined if there are none. */
export async function askNeeds(
  needs: readonly ServerNeed[],
  given: Given | undefined,
): Promise<Given | undefined> {
  const open = needs.filter(({ isSecret }) => !isSecret);
  if (open.length === 0) return undefined;
  const answers: Record<keyof Given, Record<string, string>> = {
    env: { ...given?.env },
    headers: { ...given?.headers },
    arguments: { ...given?.arguments },
  };
  for (const need of open) {
    process.stdout.write(`${describeNeed(need)}\n`);
    const answer = await ask(`${toLine(need.name, 100)} (empty to set ${need.variable} later): `);
    if (answer === "") continue;
    const group = need.kind === "env" ? "env" : need.kind === "header" ? "headers" : "arguments";
    answers[group][need.name] = answer;
  }
  return answers;
}
