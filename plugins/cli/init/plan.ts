import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../../core/mod.ts";
import type { Connection, Machine, ServerConfig } from "../../../core/services/sources.ts";
import type { OwnConfig } from "../../lib/config-file/changes.ts";
import { fillConnection } from "../../lib/server-entry/expand.ts";
import { isSelf } from "../../lib/server-entry/is-self.ts";
import { resolvePath } from "../../lib/server-entry/machine.ts";
import { quoteForShell } from "../../lib/terminal/output.ts";
import type { ClientFile } from "./client-files.ts";
import { moveEntry } from "./entry.ts";

/** A server that moves behind toolpipe. */
export interface Move {
  /** Its name in the client's file. */
  readonly name: string;
  /** Its name in our config. */
  readonly as: string;
  readonly entry: JsonObject;
  readonly config: ServerConfig;
}

/** Entry of a client that already starts toolpipe. */
interface Self {
  readonly name: string;
  /** Whether it serves the config that the servers move to. */
  readonly isOurs: boolean;
}

/** Plan for the file of a client. */
export interface ClientPlan {
  readonly from: ClientFile;
  readonly moves: readonly Move[];
  readonly stays: readonly { readonly name: string; readonly reason: string }[];
  readonly self?: Self | undefined;
}

/** Default URLs of `serve --http` and `start`. */
const ownUrls = ["http://127.0.0.1:7007/mcp", "http://localhost:7007/mcp"];

/**
 * Plans which servers move. Entries are copied into our own config, in one format for all clients, so that the user has
 * one file to edit, and backups can be deleted.
 */
export function planInit(
  files: readonly ClientFile[],
  own: OwnConfig,
  machine: Machine,
): readonly ClientPlan[] {
  const added: Record<string, JsonObject> = {};
  return files.map((from) => planFile(from, own, added, machine));
}

/** Removes servers that failed, by their names in our config, from a plan. */
export function removeFailed(
  plans: readonly ClientPlan[],
  failed: ReadonlyMap<string, string>,
): ClientPlan[] {
  return plans.map((plan) => {
    const stays = plan.moves.flatMap(({ name, as }) => {
      const reason = failed.get(as);
      return reason === undefined ? [] : [{ name, reason }];
    });
    const moves = plan.moves.filter(({ as }) => !failed.has(as));
    return { ...plan, moves, stays: [...plan.stays, ...stays] };
  });
}

function planFile(
  from: ClientFile,
  own: OwnConfig,
  added: Record<string, JsonObject>,
  machine: Machine,
): ClientPlan {
  const moves: Move[] = [];
  const stays: { name: string; reason: string }[] = [];
  let self: { readonly name: string; readonly config: ServerConfig } | undefined;
  for (const { name, config, reason } of from.servers) {
    if (!config) {
      stays.push({ name, reason: reason ?? "" });
    } else if (isSelf(fillConnection(config, machine).connection, ownUrls)) {
      self ??= { name, config };
    } else {
      const moved = moveEntry(config, machine);
      const why = moved.reason ?? explainTaken(config.name, moved.entry, own, added);
      if (why !== undefined || moved.entry === undefined) stays.push({ name, reason: why ?? "" });
      else {
        moves.push({ name, as: config.name, entry: moved.entry, config });
        if (!Object.hasOwn(own.servers, config.name)) added[config.name] = moved.entry;
      }
    }
  }
  const other = self && readConfigArg(self.config.connection, machine);
  if (other !== undefined && other !== own.file) {
    const reason = `The client already starts toolpipe with ${other}. To move servers there: toolpipe init --config ${quoteForShell(other)}`;
    return { from, moves: [], stays: [...moves.map(({ name }) => ({ name, reason })), ...stays] };
  }
  return { from, moves, stays, ...(self && { self: { name: self.name, isOurs: other === own.file } }) };
}

function explainTaken(
  name: string,
  entry: JsonObject | undefined,
  own: OwnConfig,
  added: Readonly<Record<string, JsonObject>>,
): string | undefined {
  const there = Object.hasOwn(own.servers, name) ? own.servers[name] : undefined;
  const other = there ?? (Object.hasOwn(added, name) ? added[name] : undefined);
  if (other === undefined && !own.names.has(name)) return undefined;
  return isDeepStrictEqual(other, entry)
    ? undefined
    : `Another server of this name is, or will be, in ${own.file}.`;
}

/** Reads the config file that an entry of toolpipe names. */
function readConfigArg(connection: Connection, machine: Machine): string | undefined {
  if (connection.type !== "stdio") return undefined;
  const { args } = connection;
  const at = args.findIndex((arg) => arg === "--config" || arg.startsWith("--config="));
  const given = args[at]?.startsWith("--config=") ? args[at]?.slice("--config=".length) : args[at + 1];
  return at < 0 || !given ? undefined : resolvePath(given, machine);
}
