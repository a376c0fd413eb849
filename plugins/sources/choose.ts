import type { Machine } from "../../core/services/sources.ts";
import {
  type Connection,
  definitionHash,
  type Scope,
  type ServerConfig,
  type SourceWarning,
} from "../../core/services/sources.ts";
import { fillConnection } from "../lib/server-entry/expand.ts";
import { isSelf } from "../lib/server-entry/is-self.ts";

/** Which of several definitions counts: the order of the scopes, the first before the second. */
type Precedence = readonly [Scope, Scope, Scope];

// Whoever works on a project means its server, as every client has it.
const bySameName: Precedence = ["config", "project", "user"];
// The very same server needs no approval if a person has it already.
const bySameServer: Precedence = ["config", "user", "project"];

/**
 * Leaves of all definitions, given in the order of their sources, the ones that count: not ourselves, each server
 * once, each name once. Nothing is ever merged.
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
    warn({ code: "SELF", message: `The ${server(config)} is this gateway itself and is left out.` });
    return false;
  });
  const servers = unique(
    others,
    bySameServer,
    (config) => definitionHash({ ...config, name: "", connection: filled.get(config) as Connection }),
    (kept, config) => {
      // Two names in one file are meant: two accounts at one address, say.
      if (isSameFile(kept, config) && kept.name !== config.name) return false;
      warn({
        code: "DUPLICATE",
        message: `The ${server(config)} is the same as the ${server(kept)} and is left out.`,
      });
      return true;
    },
  );
  return unique(
    servers,
    bySameName,
    (config) => config.name,
    (kept, config) => {
      warn({
        code: "SAME_NAME",
        message: `The server "${kept.name}" is defined in ${placeOf(kept)} and in ${placeOf(config)}; the first one counts.`,
      });
      return true;
    },
  );
}

/** The first with each key, in the order of precedence. `drop` may save one whose key is taken. */
function unique(
  configs: readonly ServerConfig[],
  precedence: Precedence,
  keyOf: (config: ServerConfig) => string,
  drop: (kept: ServerConfig, config: ServerConfig) => boolean,
): readonly ServerConfig[] {
  const first = new Map<string, ServerConfig>();
  return inOrder(configs, precedence).filter((config) => {
    const kept = first.get(keyOf(config));
    if (kept) return !drop(kept, config);
    first.set(keyOf(config), config);
    return true;
  });
}

/** Sorting keeps the order of the sources where precedence says nothing. */
function inOrder(configs: readonly ServerConfig[], precedence: Precedence): readonly ServerConfig[] {
  const rank = ({ origin, disabled }: ServerConfig): number => {
    if (origin.scope === "config") return 0;
    // Switched off in one client, it must not hide the one that is on in another.
    return precedence.indexOf(origin.scope) + (disabled ? precedence.length : 0);
  };
  return configs.toSorted((a, b) => rank(a) - rank(b));
}

function isSameFile(a: ServerConfig, b: ServerConfig): boolean {
  return a.origin.file === b.origin.file && a.origin.source === b.origin.source;
}

function server(config: ServerConfig): string {
  return `server "${config.name}" in ${placeOf(config)}`;
}

function placeOf({ origin }: ServerConfig): string {
  return origin.file === undefined ? "the config" : `${origin.file} (${origin.source})`;
}
