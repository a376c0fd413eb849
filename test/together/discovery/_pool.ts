import { createGateway } from "../../../core/mod.ts";
import type { Servers } from "../../../core/services/servers.ts";
import { approvals } from "../../../plugins/approvals/mod.ts";
import {
  createDiscoveryService,
  type DiscoveryParts,
  type DiscoveryService,
} from "../../../plugins/discovery/service.ts";
import { mcp } from "../../../plugins/mcp/mod.ts";
import { sources } from "../../../plugins/sources/mod.ts";
import { memoryStore, state } from "../../../plugins/state/mod.ts";
import { upstreams } from "../../../plugins/upstreams/mod.ts";

const gateway = await createGateway({
  plugins: [
    state({ store: memoryStore() }),
    approvals(),
    sources({ mcpServers: {} }),
    mcp(),
    upstreams({ discover: "none" }),
  ],
});

/** A server pool without servers of its own: every handle is a temporary connection. */
export const servers: Servers = gateway.services.servers as Servers;

/** A discovery service on that pool, which makes nothing of schemas and names. */
export function pooled(parts: Partial<DiscoveryParts> = {}): DiscoveryService {
  return createDiscoveryService({
    emitType: () => ":any",
    inferTags: () => ({ domains: [], categories: [] }),
    servers,
    ...parts,
  });
}
