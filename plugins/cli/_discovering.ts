import { type Gateway, GatewayError, type LoadedConfig, type Plugin } from "../../core/mod.ts";
import {
  type DiscoveryFailure,
  type ServerDiscovery,
  type ServerListing,
  serverDiscovery,
} from "../discovery/mod.ts";
import { definitionHash, placeOf } from "../sources/server-config.ts";
import { createSnapshot } from "../upstreams/snapshot.ts";
import { hasPlugin } from "./_gateway.ts";
import { shownLine } from "./_shown.ts";

/** The plugin that a command needs to find out what servers offer, where a config does not bring it. */
export function withDiscovery(config: LoadedConfig): readonly Plugin[] {
  return hasPlugin(config, "server-discovery") ? [] : [serverDiscovery()];
}

/** The service of a gateway that was made with {@link withDiscovery}. */
export function discoveryOf({ services }: Gateway): ServerDiscovery {
  if (services.serverDiscovery) return services.serverDiscovery;
  throw new GatewayError("PLUGIN_INVALID", 'The plugin "server-discovery" is not there.');
}

/** Hears what servers said, and keeps it where the gateway looks when it starts. */
export interface Keeping {
  readonly onListing: (listing: ServerListing) => void;
  save(): Promise<void>;
}

/** Makes the gateway's own start quicker by what is found out here. */
export async function keepListings({ services, configFile }: Gateway): Promise<Keeping> {
  const snapshot = services.cache && createSnapshot(services.cache, configFile ?? process.cwd());
  // All of it is written at once: what is there must not be lost.
  await snapshot?.load();
  return {
    onListing({ config, listing, info, prior }) {
      const hash = definitionHash(config);
      // Of a server that only a registry names, a gateway remembers nothing.
      if (config.origin.source === "registry") return;
      snapshot?.keep(placeOf(config), { hash, savedAt: Date.now(), info, listing, prior });
    },
    async save() {
      await snapshot?.flush();
    },
  };
}

/** A failure as `--json` has it. */
export function failureJson({ server, error }: DiscoveryFailure): object {
  return { server, code: error.code, message: shownLine(error.message) };
}
