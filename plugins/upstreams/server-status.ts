import type { GatewayError } from "../../core/mod.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import { NEEDS_AUTH } from "./errors.ts";
import type { Link } from "./link.ts";
import type { Listing, UpstreamInfo } from "./upstream.ts";

/** How a server stands. */
export type ServerState = "connected" | "disconnected" | "error" | "needs-approval" | "needs-auth";

/** How a server stands, and why. */
export interface ServerStatus {
  readonly name: string;
  readonly status: ServerState;
  /** Why, in a sentence. */
  readonly reason: string;
  readonly config: ServerConfig;
  readonly info: UpstreamInfo | undefined;
  /** What it offers besides its tools, which are in the catalog. */
  readonly listing: Omit<Listing, "tools"> | undefined;
  /** When its tools were last read, in milliseconds since 1970. */
  readonly listedAt: number | undefined;
}

/** Why a server must not be connected. */
export interface Held {
  readonly status: ServerState;
  readonly reason: string;
}

/** How a server stands that may be connected. */
export function standing(link: Pick<Link, "state" | "reason">, failure: GatewayError | undefined): Held {
  if (!failure) return { status: link.state, reason: link.reason };
  return { status: failure.code === NEEDS_AUTH.code ? "needs-auth" : "error", reason: failure.message };
}
