import { networkInterfaces } from "node:os";
import type { SessionHomes } from "../../core/services/http.ts";
import type { SharedState } from "../../core/services/state.ts";
import { FORWARDED, forward } from "./forward.ts";

interface SessionHomesOptions {
  readonly shared: SharedState;
  /** The address at which other replicas reach this one; by default the one that is announced. */
  readonly address?: string | undefined;
  /** Whether it replaces a gateway that may have sessions. */
  readonly isReload?: boolean | undefined;
  readonly beatMs?: number;
}

/** A client that comes back later than this starts a new session. */
const SESSION_MS = 7 * 24 * 3_600_000;
const BEAT_MS = 2_000;
/** The form of the ids that gateways give out. */
const SESSION = /^[\w-]{1,64}$/;
/** A replica that missed so many beats has ended. */
const MISSED_BEATS = 4;

/** Keeps in the shared state which replica has which session, and which replicas are alive. */
export function createSessionHomes(options: SessionHomesOptions): SessionHomes {
  const { shared, address, isReload = false, beatMs = BEAT_MS } = options;
  let self = "";
  let origin = "";
  let timer: ReturnType<typeof setInterval> | undefined;

  const beat = async (): Promise<void> => {
    await shared.put(`replica:${self}`, origin, beatMs * MISSED_BEATS);
  };
  const startBeating = async (): Promise<void> => {
    if (timer !== undefined) return;
    timer = setInterval(() => void beat().catch(() => {}), beatMs);
    timer.unref?.();
    await beat();
  };

  return {
    announce({ id, url }) {
      self = id;
      origin = new URL(address ?? toReachable(url)).origin;
      if (isReload) void startBeating().catch(() => {});
    },
    async begin(session, forMs = SESSION_MS) {
      // If the shared state cannot be reached, only this replica knows the session.
      await Promise.all([startBeating(), shared.put(`session:${session}`, self, forMs)]).catch(() => {});
    },
    async route(session, request, response, body) {
      if (!SESSION.test(session)) return "gone";
      let home: string | undefined;
      let target: string | undefined;
      try {
        home = await shared.get(`session:${session}`);
        if (home === self) return "here";
        target = home && (await shared.get(`replica:${home}`));
      } catch {
        // Without the shared state, this replica knows its own sessions, and begins new ones.
        return "here";
      }
      // A request that was forwarded to the wrong replica must not be forwarded in a circle.
      if (target === undefined || request.headers[FORWARDED] !== undefined) return "gone";
      return forward(request, response, { origin: target, from: self, body });
    },
    close() {
      clearInterval(timer);
    },
  };
}

/** Replaces an address that stands for all addresses of this machine: other machines cannot use it. */
function toReachable(url: string): string {
  const address = new URL(url);
  if (address.hostname !== "0.0.0.0" && address.hostname !== "[::]") return url;
  const own = Object.values(networkInterfaces())
    .flat()
    .find((each) => each && !each.internal && each.family === "IPv4");
  address.hostname = own?.address ?? "127.0.0.1";
  return address.href;
}
