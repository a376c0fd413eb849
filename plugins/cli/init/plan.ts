import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../../core/mod.ts";
import type { Connection, Machine, ServerConfig } from "../../../core/services/sources.ts";
import type { OwnConfig } from "../../lib/config-file/own-config.ts";
import { fillConnection } from "../../lib/server-entry/expand.ts";
import { isSelf } from "../../lib/server-entry/is-self.ts";
import { pathFrom } from "../../lib/server-entry/machine.ts";
import type { ClientFile } from "./client-files.ts";
import { moveEntry } from "./entry.ts";

/** A server that goes behind toolpipe. */
export interface Move {
  /** Its name in the client's file. */
  readonly name: string;
  /** Its name in our config. */
  readonly as: string;
  readonly entry: JsonObject;
  readonly config: ServerConfig;
}

/** An entry of a client's file that starts toolpipe already. */
interface Self {
  readonly name: string;
  /** Whether it serves the config that servers are moved to. */
  readonly isOurs: boolean;
}

/** What would become of one file of a client. */
export interface ClientPlan {
  readonly from: ClientFile;
  readonly moves: readonly Move[];
  readonly stays: readonly { readonly name: string; readonly reason: string }[];
  readonly self?: Self | undefined;
}

/** Where `serve --http` and `start` are reached if nothing else is said. */
const ownUrls = ["http://127.0.0.1:7007/mcp", "http://localhost:7007/mcp"];

/**
 * Decides what moves. The definitions are copied into our own config, in the one form that it has for all clients,
 * and not left in a client's file or in the backup to be read from there: a person has one file to look at and to
 * change afterwards, and a backup that is in use could not be thrown away.
 */
export function planInit(
  files: readonly ClientFile[],
  own: OwnConfig,
  machine: Machine,
): readonly ClientPlan[] {
  const added: Record<string, JsonObject> = {};
  return files.map((from) => planFile(from, own, added, machine));
}

/** The same plan without the servers that cannot be used, by the names they would have. */
export function without(plans: readonly ClientPlan[], failed: ReadonlyMap<string, string>): ClientPlan[] {
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
      const why = moved.reason ?? whyTaken(config.name, moved.entry, own, added);
      if (why !== undefined || moved.entry === undefined) stays.push({ name, reason: why ?? "" });
      else {
        moves.push({ name, as: config.name, entry: moved.entry, config });
        if (!Object.hasOwn(own.servers, config.name)) added[config.name] = moved.entry;
      }
    }
  }
  const other = self && configOf(self.config.connection, machine);
  if (other !== undefined && other !== own.file) {
    const reason = `It already starts toolpipe with ${other}. To move servers there: toolpipe init --config ${other}`;
    return { from, moves: [], stays: [...moves.map(({ name }) => ({ name, reason })), ...stays] };
  }
  return { from, moves, stays, ...(self && { self: { name: self.name, isOurs: other === own.file } }) };
}

function whyTaken(
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

/** The config that an entry of our own names. */
function configOf(connection: Connection, machine: Machine): string | undefined {
  if (connection.type !== "stdio") return undefined;
  const { args } = connection;
  const at = args.findIndex((arg) => arg === "--config" || arg.startsWith("--config="));
  const given = args[at]?.startsWith("--config=") ? args[at]?.slice("--config=".length) : args[at + 1];
  return at < 0 || !given ? undefined : pathFrom(given, machine);
}
