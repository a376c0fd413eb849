import { type Gateway, GatewayError, type JsonObject } from "../../core/mod.ts";
import { offerLogging } from "../serve/client.ts";
import { holdBack } from "./approval.ts";
import { CONNECT_FAILED } from "./errors.ts";
import type { Fleet, FleetParts } from "./fleet.ts";
import type { ServerStatus } from "./server-status.ts";

/** What servers tell of what they have besides their tools. */
export interface OfferListener {
  /** What a server has is known, or is another now. */
  onOffer?(server: string): void;
  /** Something that is watched has changed. */
  onResourceUpdated?(server: string, uri: string): void;
  /** A server has said something else than what was known of it: all of it, as JSON. */
  onListed?(server: string, listed: Readonly<JsonObject>): void;
}

/** Every server behind the gateway. */
export interface Upstreams {
  statuses(): readonly ServerStatus[];
  status(server: string): ServerStatus | undefined;
  /** Asks servers for their tools: one, or all. Failures are in their status. */
  refresh(server?: string): Promise<void>;
  /** Takes what another gateway has read from a server of the same definition, where that is newer than what is known. */
  adopt(server: string, listed: unknown): Promise<void>;
  /** Looks again whether a server may be used that waits for a person, and if so asks it for its tools. */
  recheck(server: string): Promise<void>;
  /** Resolves once no server is being asked for its tools. */
  settled(): Promise<void>;
  /** Resolves once what a server has said so far is in the catalog; plugins may look at it for a while. */
  published(server: string): Promise<void>;
  /** Wants to hear of changes of these resources of a server, and of no others. */
  watch(server: string, uris: readonly string[]): Promise<void>;
  /** Tells of what servers have besides their tools; to be called before they are read, in a plugin's setup. */
  listen(listener: OfferListener): void;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `upstreams`. */
    upstreams?: Upstreams;
  }
}

/** What other plugins may ask of the servers, and what passes on to them what servers tell. */
export interface Service extends Upstreams {
  readonly telling: Pick<FleetParts, "onOffer" | "onResourceUpdated" | "onListed">;
}

/** Makes what other plugins may ask of a fleet, which need not be there yet. */
export function createService(gateway: Gateway, fleetNow: () => Fleet | undefined): Service {
  const listeners: OfferListener[] = [];
  return {
    statuses: () => fleetNow()?.statuses() ?? [],
    status: (server) => fleetNow()?.status(server),
    async refresh(server) {
      await fleetNow()?.discover(server === undefined ? "all" : { name: server });
    },
    async adopt(server, listed) {
      await fleetNow()?.adopt(server, listed);
    },
    async recheck(server) {
      const config = fleetNow()?.status(server)?.config;
      if (config && !(await holdBack(gateway, config))) await fleetNow()?.release(server);
    },
    async settled() {
      await fleetNow()?.settled();
    },
    async published(server) {
      await fleetNow()
        ?.published(server)
        ?.catch(() => {});
    },
    async watch(server, uris) {
      const link = fleetNow()?.link(server);
      if (!link) throw new GatewayError(CONNECT_FAILED, `There is no server "${server}".`);
      await link.watch(uris);
    },
    listen: (listener) => void listeners.push(listener),
    telling: {
      onOffer(server) {
        if (fleetNow()?.status(server)?.info?.capabilities?.["logging"]) offerLogging(gateway);
        for (const listener of listeners) listener.onOffer?.(server);
      },
      onResourceUpdated(server, uri) {
        for (const listener of listeners) listener.onResourceUpdated?.(server, uri);
      },
      onListed(server, { prior: _prior, ...listed }) {
        for (const listener of listeners) listener.onListed?.(server, listed as unknown as JsonObject);
      },
    },
  };
}
