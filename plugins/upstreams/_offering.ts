import { isDeepStrictEqual } from "node:util";
import type { Gateway, RejectedTool, Server, ToolDefinition } from "../../core/mod.ts";
import { definitionHash, placeOf, type ServerConfig } from "../sources/server-config.ts";
import { type Remembered, rememberedOf, type Snapshot } from "./snapshot.ts";
import type { UpstreamInfo } from "./upstream.ts";

/** What an offering is made of. */
export interface OfferingParts {
  readonly gateway: Gateway;
  readonly snapshot: Snapshot | undefined;
  /** What a server has besides its tools is known, or is another now. */
  readonly onOffer?: ((server: string) => void) | undefined;
  /** A server has said something else than what is known of it. */
  readonly onListed?: ((server: string, listed: Remembered) => void) | undefined;
}

/** What a server was last seen to offer. It is kept in the snapshot, and its tools in the catalog. */
export interface Offering {
  readonly seen: Remembered | undefined;
  /** What the catalog did not take. */
  readonly refused: readonly RejectedTool[];
  /** Until what the server said is in the catalog. */
  readonly publishing: Promise<void> | undefined;
  /** Publishes what is remembered of it, which may be nothing. Rejects where the catalog does not take its name. */
  restore(remembered: Remembered | undefined): Promise<void>;
  /** Takes what the server itself has said now. */
  take(
    said: Omit<Remembered, "hash" | "savedAt" | "info"> & { readonly info: UpstreamInfo | undefined },
  ): Promise<void>;
  /**
   * Takes what another gateway has read from a server of the same definition, where that is newer. Says whether it is
   * certain now what the server has: which is newer is not, where two clocks tell.
   */
  adopt(given: unknown, prior: unknown): Promise<boolean>;
}

/** Makes the offering of a server of which nothing is known yet. */
export function createOffering(config: ServerConfig, parts: OfferingParts): Offering {
  const { gateway, snapshot, onOffer, onListed } = parts;
  let seen: Remembered | undefined;
  let refused: readonly RejectedTool[] = [];
  let publishing: Promise<void> | undefined;
  /** What the catalog was given of it. */
  let offered: readonly [Server, readonly ToolDefinition[]] | undefined;

  return {
    get seen() {
      return seen;
    },
    get refused() {
      return refused;
    },
    get publishing() {
      return publishing;
    },
    restore(remembered) {
      seen = remembered;
      return publish();
    },
    async take({ info, listing, prior }) {
      const before = seen;
      const now = { hash: definitionHash(config), savedAt: Date.now(), listing, prior };
      await keep({ ...now, info: info ?? before?.info ?? {} });
      if (seen && !isDeepStrictEqual(before?.listing, seen.listing)) onListed?.(config.name, seen);
    },
    async adopt(given, prior) {
      const listed = rememberedOf(given);
      if (listed?.hash !== definitionHash(config)) return true;
      if (listed.savedAt <= (seen?.savedAt ?? 0)) return isDeepStrictEqual(listed.listing, seen?.listing);
      // How a handshake went is between the two that made it.
      await keep({ ...listed, prior });
      return true;
    },
  };

  async function keep(now: Remembered): Promise<void> {
    const before = seen;
    seen = now;
    snapshot?.keep(placeOf(config), now);
    if (!isDeepStrictEqual(besidesTools(before), besidesTools(now))) onOffer?.(config.name);
    const own = publish().finally(() => {
      if (publishing === own) publishing = undefined;
    });
    publishing = own;
    await own;
  }

  async function publish(): Promise<void> {
    const { name: id, description } = config;
    const { info, listing } = seen ?? {};
    const server = { id, title: info?.title, description: description ?? info?.title ?? info?.name };
    const offer = [server, listing?.tools ?? []] as const;
    // Every change of the catalog makes whoever keeps an index of it start anew.
    if (isDeepStrictEqual(offer, offered)) return;
    const { rejected } = await gateway.catalog.replace(...offer);
    offered = offer;
    refused = rejected;
  }
}

function besidesTools(seen: Remembered | undefined): unknown {
  return seen && [seen.info.capabilities, { ...seen.listing, tools: [], rejected: [] }];
}
