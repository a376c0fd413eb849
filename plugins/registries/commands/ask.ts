import { createInterface } from "node:readline/promises";
import type { ServerNeed } from "../../lib/server-entry/server-json.ts";
import { plain } from "../entry.ts";
import type { Given } from "../install.ts";
import { describeNeed } from "./needs.ts";

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
export async function confirmed(question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await ask(question));
}

/** Asks for the settings of a server that are no secrets; nothing where there are none. */
export async function askFor(
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
    const answer = await ask(`${plain(need.name, 100)} (empty to set ${need.variable} later): `);
    if (answer === "") continue;
    const group = need.kind === "env" ? "env" : need.kind === "header" ? "headers" : "arguments";
    answers[group][need.name] = answer;
  }
  return answers;
}
