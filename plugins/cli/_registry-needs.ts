import { plain } from "../registry/entry.ts";
import type { Given } from "../registry/install.ts";
import type { ServerNeed } from "../sources/server-json.ts";
import { pairsOf } from "./_introspect-target.ts";

const KINDS: Readonly<Record<ServerNeed["kind"], string>> = {
  env: "variable",
  header: "header",
  argument: "argument",
  url: "part of its URL",
};

/** What a server wants to know, as one line. */
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

/** What was given by options that may be given several times: `--env`, `--header` and `--arg`. */
export function givenBy(typed: readonly string[]): Given {
  return {
    env: pairsOf(typed, "env", "="),
    headers: pairsOf(typed, "header", ":"),
    arguments: pairsOf(typed, "arg", "="),
  };
}
