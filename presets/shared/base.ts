import type { Plugin } from "../../core/mod.ts";
import { approvals } from "../../plugins/approvals/mod.ts";
import { auth } from "../../plugins/auth/mod.ts";
import { cache } from "../../plugins/cache/mod.ts";
import { capabilities } from "../../plugins/discovery/mod.ts";
import { mcp } from "../../plugins/mcp/mod.ts";
import { overload } from "../../plugins/overload.ts";
import { pins } from "../../plugins/pins/mod.ts";
import { replicas } from "../../plugins/replicas/mod.ts";
import { rules } from "../../plugins/rules/mod.ts";
import { sources } from "../../plugins/sources/mod.ts";
import { state } from "../../plugins/state/mod.ts";
import { upstreams } from "../../plugins/upstreams/mod.ts";

/** Creates the plugins that every preset has: server entries, connections, rules, state, cache. */
export function createBasePlugins(): Plugin[] {
  return [
    state(),
    approvals(),
    cache(),
    sources(),
    mcp(),
    rules(),
    capabilities(),
    pins(),
    upstreams({ useCache: true }),
    replicas(),
    auth(),
    overload(),
  ];
}
