import type { ServerNeed } from "../../lib/server-entry/server-json.ts";
import { parsePairs } from "../../lib/terminal/output.ts";
import { plain } from "../entry.ts";
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
    ...(need.default === undefined ? [] : [`${plain(need.default, 100)} if not given`]),
  ];
  const about = description ? `: ${plain(description, 300)}` : "";
  const among = choices && choices.length > 0 ? ` One of ${plain(choices.join(", "), 300)}.` : "";
  return `  ${plain(name, 100)} (${facts.join(", ")})${about}${among}`;
}

/** Collects the values of the repeatable options `--env`, `--header` and `--arg`. */
export function givenBy(typed: readonly string[]): Given {
  return {
    env: parsePairs(typed, "env", "="),
    headers: parsePairs(typed, "header", ":"),
    arguments: parsePairs(typed, "arg", "="),
  };
}
