import type { Connection, Machine, Scope, ServerConfig, SourceWarning } from "../../core/services/sources.ts";
import { hashServer } from "../lib/hash.ts";
import { fillConnection } from "../lib/server-entry/expand.ts";
import { isSelf } from "../lib/server-entry/is-self.ts";

/** Precedence of definitions by scope, the first before the second. */
type Precedence = readonly [Scope, Scope, Scope];

// In a project, its own server counts, as in every client.
const bySameName: Precedence = ["config", "project", "user"];
// The same server needs no approval if the user has it already.
const bySameServer: Precedence = ["config", "user", "project"];

/**
 * Chooses the definitions that count, in the order of their sources: not this gateway itself, each server once, each
 * name once. Definitions are never merged.
 */
export function choose(
  candidates: readonly ServerConfig[],
  machine: Machine,
  ownUrls: readonly string[],
  warn: (warning: SourceWarning) => void,
): readonly ServerConfig[] {
  const filled = new Map(candidates.map((config) => [config, fillConnection(config, machine).connection]));
  const others = candidates.filter((config) => {
    if (!isSelf(filled.get(config) as Connection, ownUrls)) return true;
    warn({ code: "SELF", message: `The ${describeServer(config)} is this gateway itself and is left out.` });
    return false;
  });
  const servers = removeDuplicates(
    others,
    bySameServer,
    (config) => hashServer({ ...config, name: "", connection: filled.get(config) as Connection }),
    (kept, config) => {
      // Two names in one file are intended: for example, two accounts at one URL.
      if (isSameFile(kept, config) && kept.name !== config.name) return false;
      warn({
        code: "DUPLICATE",
        message: `The ${describeServer(config)} is the same as the ${describeServer(kept)} and is left out.`,
      });
      return true;
    },
  );
  return removeDuplicates(
    servers,
    bySameName,
    (config) => config.name,
    (kept, config) => {
      warn({
        code: "SAME_NAME",
        message: `The server "${kept.name}" is defined in ${describePlace(kept)} and in ${describePlace(config)}; the first one counts.`,
      });
      return true;
    },
  );
}

/** Keeps the first with each key, in the order of precedence. `drop` may keep one whose key is taken. */
function removeDuplicates(
  configs: readonly ServerConfig[],
  precedence: Precedence,
  toKey: (config: ServerConfig) => string,
  drop: (kept: ServerConfig, config: ServerConfig) => boolean,
): readonly ServerConfig[] {
  const first = new Map<string, ServerConfig>();
  return sortByPrecedence(configs, precedence).filter((config) => {
    const kept = first.get(toKey(config));
    if (kept) return !drop(kept, config);
    first.set(toKey(config), config);
    return true;
  });
}

/** Sorts by precedence; within a scope, the order of the sources stays. */
function sortByPrecedence(configs: readonly ServerConfig[], precedence: Precedence): readonly ServerConfig[] {
  const rank = ({ origin, disabled }: ServerConfig): number => {
    if (origin.scope === "config") return 0;
    // A server that is disabled in one client must not hide one that is enabled in another.
    return precedence.indexOf(origin.scope) + (disabled ? precedence.length : 0);
  };
  return configs.toSorted((a, b) => rank(a) - rank(b));
}

function isSameFile(a: ServerConfig, b: ServerConfig): boolean {
  return a.origin.file === b.origin.file && a.origin.source === b.origin.source;
}

function describeServer(config: ServerConfig): string {
  return `server "${config.name}" in ${describePlace(config)}`;
}

function describePlace({ origin }: ServerConfig): string {
  return origin.file === undefined ? "the config" : `${origin.file} (${origin.source})`;
}
