import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { JsonObject } from "../../../core/mod.ts";
import { isWebUrl } from "../../lib/server-entry/connection.ts";
import { normalizeServerName } from "../../lib/server-entry/normalize.ts";
import { usageError } from "../../lib/terminal/output.ts";

/** Server that the user names on the command line. */
export interface IntrospectTarget {
  /** Suggested name. */
  readonly name: string;
  /** Entry of the server, as in a config. */
  readonly entry: JsonObject;
}

/** Parses the server that a URL, or a command and its arguments, names. */
export function parseTarget(
  words: readonly string[],
  {
    headers,
    env,
  }: { readonly headers: Readonly<Record<string, string>>; readonly env: Readonly<Record<string, string>> },
  cwd: string = process.cwd(),
): IntrospectTarget {
  const [first = "", ...args] = words;
  if (isWebUrl(first)) {
    if (args.length > 0) throw usageError(`There is one argument too many: "${args[0]}".`);
    if (Object.keys(env).length > 0) throw usageError("The option --env is for a server that is a command.");
    return { name: toUrlName(new URL(first)), entry: { url: first, ...optionalMap("headers", headers) } };
  }
  if (Object.keys(headers).length > 0) throw usageError("The option --header is for a server with a URL.");
  const command = /[\\/]/.test(first) && !isAbsolute(first) ? resolve(cwd, first) : first;
  // A file that is named from here must be found from elsewhere too.
  const isBound = args.some(
    (arg) => !arg.startsWith("-") && !isAbsolute(arg) && existsSync(resolve(cwd, arg)),
  );
  return {
    name: toCommandName(words),
    entry: { command, args, ...optionalMap("env", env), ...(isBound && { cwd }) },
  };
}

function optionalMap(key: string, map: Readonly<Record<string, string>>): JsonObject {
  return Object.keys(map).length > 0 ? { [key]: map } : {};
}

const GENERIC = new Set(
  "www api mcp app server servers com org net io dev ai co v1 sse http modelcontextprotocol".split(" "),
);

function toUrlName({ hostname, pathname }: URL): string {
  const isAddress = /^[\d.]+$|^\[/.test(hostname) || hostname === "localhost";
  const host = isAddress ? [] : hostname.split(".");
  const telling = [...host, ...pathname.split("/")].filter((part) => part !== "" && !GENERIC.has(part));
  return toServerName(telling[0] ?? "server");
}

const RUNNERS =
  /^(?:npx|npm|pnpm|pnpx|yarn|bunx?|uvx?|node|deno|python\d*|docker|podman|dnx|exec|dlx|run|x|tool)$/i;

/** Common names of folders and files, which do not distinguish servers: `server-memory/dist/index.js` is about memory. */
const ANY_PROGRAM = /^(?:index|main|mod|cli|server|start|run|dist|build|lib|src|bin|out)(?:\.\w+)?$/i;

/** `npx -y @scope/server-github@1.2` is `github`. */
function toCommandName(words: readonly string[]): string {
  const plain = words.filter((word) => !word.startsWith("-"));
  const chosen = plain.find((word) => !RUNNERS.test(lastPart(word))) ?? plain[0] ?? "server";
  const bare = lastPart(chosen)
    .replace(/(?<=.)@.*$/, "")
    .replace(/\.(?:[cm]?[jt]s|py|exe|cmd)$/i, "");
  const telling = bare.split(/[-_]/).filter((part) => !GENERIC.has(part.toLowerCase()));
  return toServerName(telling.join("-") || bare);
}

function lastPart(word: string): string {
  const parts = word.split(/[\\/]/).filter((part) => part !== "");
  return parts.findLast((part) => !ANY_PROGRAM.test(part)) ?? parts.at(-1) ?? word;
}

function toServerName(text: string): string {
  return normalizeServerName(text.toLowerCase()) ?? "server";
}
