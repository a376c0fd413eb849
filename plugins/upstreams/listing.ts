import { isDeepStrictEqual } from "node:util";
import type { Gateway, RejectedTool, Server, ToolDefinition } from "../../core/mod.ts";
import type { UpstreamInfo } from "../../core/services/servers.ts";
import { type ServerConfig, toServerKey } from "../../core/services/sources.ts";
import { hashServer } from "../lib/hash.ts";
import {
  type CachedFailure,
  type CachedListing,
  type CatalogSnapshot,
  parseCachedListing,
} from "./snapshot.ts";

/** Dependencies of a published listing. */
export interface ListingOptions {
  readonly gateway: Gateway;
  readonly snapshot: CatalogSnapshot | undefined;
  /** Called when the capabilities, resources or prompts of a server are known, or have changed. */
  readonly onOffer?: ((server: string) => void) | undefined;
  /** Called when a server's own listing differs from the known one. */
  readonly onListed?: ((server: string, listing: CachedListing) => void) | undefined;
}

/** The last known listing of a server: kept in the snapshot, its tools published in the catalog. */
export interface PublishedListing {
  readonly known: CachedListing | undefined;
  /** Tools that the catalog rejected. */
  readonly rejected: readonly RejectedTool[];
  /** Settles once the listing is in the catalog; undefined if nothing is on its way there. */
  readonly publishing: Promise<void> | undefined;
  /** Publishes the listing of the snapshot, if any. Rejects if the catalog refuses the server's name. */
  restore(cached: CachedListing | undefined): Promise<void>;
  /** Publishes a listing that the server has just sent. */
  update(
    listed: Omit<CachedListing, "hash" | "savedAt" | "info"> & { readonly info: UpstreamInfo | undefined },
  ): Promise<void>;
  /** Keeps a failure beside the listing, for the next start. A listing that the server sends removes it. */
  keepFailure(failure: CachedFailure): void;
  /**
   * Publishes a newer listing of the same definition that another gateway has read. Returns whether the listing is
   * certain now: clocks of two machines cannot tell which of two different listings is newer.
   */
  adopt(given: unknown, prior: unknown): Promise<boolean>;
}

/** Creates the listing of a server that has not been asked yet. */
export function createPublishedListing(config: ServerConfig, options: ListingOptions): PublishedListing {
  const { gateway, snapshot, onOffer, onListed } = options;
  let known: CachedListing | undefined;
  let rejected: readonly RejectedTool[] = [];
  let publishing: Promise<void> | undefined;
  let published: readonly [Server, readonly ToolDefinition[]] | undefined;

  return {
    get known() {
      return known;
    },
    get rejected() {
      return rejected;
    },
    get publishing() {
      return publishing;
    },
    restore(cached) {
      known = cached;
      return publish();
    },
    async update({ info, listing, prior }) {
      const before = known;
      const own = { hash: hashServer(config), savedAt: Date.now(), listing, prior };
      await keep({ ...own, info: info ?? before?.info ?? {} });
      if (known && !isDeepStrictEqual(before?.listing, known.listing)) onListed?.(config.name, known);
    },
    keepFailure(failure) {
      if (!known) return;
      known = { ...known, failure };
      snapshot?.set(toServerKey(config), known);
    },
    async adopt(given, prior) {
      const listed = parseCachedListing(given);
      if (listed?.hash !== hashServer(config)) return true;
      if (listed.savedAt <= (known?.savedAt ?? 0)) return isDeepStrictEqual(listed.listing, known?.listing);
      // The result of a handshake is valid between its two sides only.
      await keep({ ...listed, prior, failure: undefined });
      return true;
    },
  };

  async function keep(next: CachedListing): Promise<void> {
    const before = known;
    known = next;
    snapshot?.set(toServerKey(config), next);
    if (!isDeepStrictEqual(withoutTools(before), withoutTools(next))) onOffer?.(config.name);
    const own = publish().finally(() => {
      if (publishing === own) publishing = undefined;
    });
    publishing = own;
    await own;
  }

  async function publish(): Promise<void> {
    const { name: id, description, declaredTools = [] } = config;
    const { info, listing } = known ?? {};
    const title = info?.title ?? config.title;
    const server = { id, title, description: description ?? title ?? info?.name };
    const declared = declaredTools.map((tool) => ({ ...tool, inputSchema: { type: "object" } }));
    const next = [server, listing?.tools ?? declared] as const;
    // Every change of the catalog makes the search index rebuild.
    if (isDeepStrictEqual(next, published)) return;
    ({ rejected } = await gateway.catalog.replace(...next));
    published = next;
  }
}

function withoutTools(listed: CachedListing | undefined): unknown {
  return listed && [listed.info.capabilities, { ...listed.listing, tools: [], rejected: [] }];
}
