import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { JsonObject } from "../../core/mod.ts";
import { isWebUrl } from "../sources/connection-of.ts";
import { serverName } from "../sources/server-name.ts";
import { usageError } from "./_usage.ts";

/** How a person names a server that no config has. */
export interface Target {
  /** A name that fits it. */
  readonly name: string;
  /** How it is reached, as it would stand in a config. */
  readonly entry: JsonObject;
}

/** What a person says of a server besides where it is. */
export interface TargetExtras {
  readonly headers: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

/** The server that is meant by a URL, or by a command and its arguments. */
export function targetOf(
  words: readonly string[],
  { headers, env }: TargetExtras,
  cwd: string = process.cwd(),
): Target {
  const [first = "", ...args] = words;
  if (isWebUrl(first)) {
    if (args.length > 0) throw usageError(`There is one argument too many: "${args[0]}".`);
    if (Object.keys(env).length > 0) throw usageError("The option --env is for a server that is a command.");
    return { name: nameOfUrl(new URL(first)), entry: { url: first, ...ifAny("headers", headers) } };
  }
  if (Object.keys(headers).length > 0) throw usageError("The option --header is for a server with a URL.");
  const command = /[\\/]/.test(first) && !isAbsolute(first) ? resolve(cwd, first) : first;
  // A file that is named from here must be found from elsewhere too.
  const isBound = args.some(
    (arg) => !arg.startsWith("-") && !isAbsolute(arg) && existsSync(resolve(cwd, arg)),
  );
  return {
    name: nameOfCommand(words),
    entry: { command, args, ...ifAny("env", env), ...(isBound && { cwd }) },
  };
}

/** The values of an option that may be given several times, each a name and a value. */
export function pairsOf(
  typed: readonly string[],
  option: string,
  separator: "=" | ":",
): Readonly<Record<string, string>> {
  const end = typed.indexOf("--");
  const own = end === -1 ? typed : typed.slice(0, end);
  const values = own.flatMap((word, at) => {
    if (word === `--${option}`) return [own[at + 1] ?? ""];
    return word.startsWith(`--${option}=`) ? [word.slice(option.length + 3)] : [];
  });
  return Object.fromEntries(
    values.map((value) => {
      const at = value.indexOf(separator);
      if (at < 1) throw usageError(`The option --${option} needs a name and a value: NAME${separator}VALUE.`);
      return [value.slice(0, at).trim(), value.slice(at + 1).trim()];
    }),
  );
}

function ifAny(key: string, map: Readonly<Record<string, string>>): JsonObject {
  return Object.keys(map).length > 0 ? { [key]: map } : {};
}

const GENERIC = new Set(
  "www api mcp app server servers com org net io dev ai co v1 sse http modelcontextprotocol".split(" "),
);

function nameOfUrl({ hostname, pathname }: URL): string {
  const isAddress = /^[\d.]+$|^\[/.test(hostname) || hostname === "localhost";
  const host = isAddress ? [] : hostname.split(".");
  const telling = [...host, ...pathname.split("/")].filter((part) => part !== "" && !GENERIC.has(part));
  return nameFrom(telling[0] ?? "server");
}

const RUNNERS =
  /^(?:npx|npm|pnpm|pnpx|yarn|bunx?|uvx?|node|deno|python\d*|docker|podman|dnx|exec|dlx|run|x|tool)$/i;

/** What the folders and files of any program are called: `server-memory/dist/index.js` is about memory. */
const ANY_PROGRAM = /^(?:index|main|mod|cli|server|start|run|dist|build|lib|src|bin|out)(?:\.\w+)?$/i;

/** `npx -y @scope/server-github@1.2` is `github`. */
function nameOfCommand(words: readonly string[]): string {
  const plain = words.filter((word) => !word.startsWith("-"));
  const chosen = plain.find((word) => !RUNNERS.test(lastPart(word))) ?? plain[0] ?? "server";
  const bare = lastPart(chosen)
    .replace(/(?<=.)@.*$/, "")
    .replace(/\.(?:[cm]?[jt]s|py|exe|cmd)$/i, "");
  const telling = bare.split(/[-_]/).filter((part) => !GENERIC.has(part.toLowerCase()));
  return nameFrom(telling.join("-") || bare);
}

function lastPart(word: string): string {
  const parts = word.split(/[\\/]/).filter((part) => part !== "");
  return parts.findLast((part) => !ANY_PROGRAM.test(part)) ?? parts.at(-1) ?? word;
}

function nameFrom(text: string): string {
  return serverName(text.toLowerCase()) ?? "server";
}
