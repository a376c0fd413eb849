import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { RegistryEntry } from "../../core/services/registries.ts";
import { UPSTREAM_PROTOCOL } from "../../core/services/servers.ts";
import { field, readEntry } from "./entry.ts";
import type { RegistrySettings } from "./options.ts";
import { type RegistryRequest, unavailable } from "./request.ts";

/** Filter of a list of servers. */
export interface ListOptions {
  /** A part of the name, in any case. */
  readonly search?: string | undefined;
  /** Only servers that changed since, as RFC 3339; those deleted since are then listed too. */
  readonly updatedSince?: string | undefined;
  /** An exact version, or `latest` for one entry a server. */
  readonly version?: string | undefined;
  readonly includeDeleted?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One page of a list. */
export interface RegistryPage {
  readonly entries: readonly RegistryEntry[];
  /** Number of unusable entries that were left out. */
  readonly dropped: number;
  /** The cursor of the next page; nothing at the end of the list. */
  readonly cursor: string | undefined;
  /** The time of the registry, if it sent it. */
  readonly at: number | undefined;
}

/** More than is ever asked for. */
const MOST_ENTRIES = 2_000;
const LONGEST_CURSOR = 4_000;
/** A list ends after this many pages without a new entry. */
const MOST_IDLE_PAGES = 3;

/** Reads a list page by page. It ends, whatever a registry answers. */
export async function* registryPages(
  request: RegistryRequest,
  base: string,
  options: ListOptions,
  settings: Pick<RegistrySettings, "pageSize" | "maxPages">,
): AsyncGenerator<RegistryPage, void, undefined> {
  const { search, updatedSince, version, includeDeleted, signal } = options;
  const query = {
    limit: String(settings.pageSize),
    search,
    updated_since: updatedSince,
    version,
    include_deleted: includeDeleted ? "true" : undefined,
  };
  const cursors = new Set<string>();
  const seen = new Set<string>();
  let cursor: string | undefined;
  let idle = 0;
  for (let count = 0; count < settings.maxPages; count++) {
    const answer = await request(base, "servers", { ...query, cursor }, signal);
    if (!answer)
      throw unavailable(base, new GatewayError(UPSTREAM_PROTOCOL, "It has no API of version 0.1."));
    const page = readPage(answer.body, base);
    const fresh = page.entries.filter((entry) => {
      const id = `${entry.name} ${entry.version}`;
      return !seen.has(id) && seen.add(id);
    });
    // Unusable entries count as new: others may follow them.
    idle = fresh.length + page.dropped > 0 ? 0 : idle + 1;
    const next = page.cursor;
    yield { entries: fresh, dropped: page.dropped, cursor: next, at: answer.at };
    if (next === undefined || next === cursor || cursors.has(next) || idle >= MOST_IDLE_PAGES) return;
    cursors.add(next);
    cursor = next;
  }
}

function readPage(body: JsonObject, base: string): Omit<RegistryPage, "at"> {
  const servers = Array.isArray(body["servers"]) ? body["servers"] : [];
  const entries = servers.slice(0, MOST_ENTRIES).flatMap((value) => readEntry(value, base) ?? []);
  const metadata = isJsonObject(body["metadata"]) ? body["metadata"] : {};
  const cursor = field(metadata, "nextCursor");
  const isUsable = typeof cursor === "string" && cursor !== "" && cursor.length <= LONGEST_CURSOR;
  return { entries, dropped: servers.length - entries.length, cursor: isUsable ? cursor : undefined };
}
