import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { networkInterfaces } from "node:os";
import { FORWARDED, forward } from "./forward.ts";
import type { Replicas } from "./mod.ts";

/**
 * Where the sessions of clients of the older era are among the replicas, and the calls that wait for a client of the
 * newer one to come back.
 */
export interface SessionHomes {
  /** Says that a session has begun here, which is known for a week or so long. */
  begin(session: string, forMs?: number): Promise<void>;
  /**
   * Finds out where a session is that is not known here, and has the request answered there.
   *
   * - `here`: it is to be answered here, as well as it can be.
   * - `gone`: it has ended, or whoever had it; nothing was done.
   * - `lost`: whoever has it ended before it answered; nobody knows what was done.
   * - `answered`: by whoever has it.
   */
  route(
    session: string,
    request: IncomingMessage,
    response: ServerResponse,
    body?: string,
  ): Promise<"here" | "gone" | "lost" | "answered">;
  close(): void;
}

/** What homes are made with. */
export interface SessionHomesParts {
  /** Where this one is served. */
  readonly url: string;
  /** What it is among its replicas now; nothing where it has none. */
  readonly replicas: () => Replicas | undefined;
  readonly beatMs?: number;
}

/** A client that comes back later than this begins anew. */
const SESSION_MS = 7 * 24 * 3_600_000;
const BEAT_MS = 2_000;
/** What is not of this form was given out by nobody. */
const SESSION = /^[\w-]{1,64}$/;
/** Whoever was not heard of for so many beats is gone. */
const MISSED_BEATS = 4;

/** Keeps in what all replicas share who has which session, and that this one lives. Each start of a server is another replica. */
export function createSessionHomes({ url, replicas, beatMs = BEAT_MS }: SessionHomesParts): SessionHomes {
  const self = randomUUID();
  let timer: ReturnType<typeof setInterval> | undefined;

  const beat = async (): Promise<void> => {
    const { commons, address = reachable(url) } = replicas() ?? {};
    await commons?.hold(`replica:${self}`, originOf(address), beatMs * MISSED_BEATS);
  };

  return {
    async begin(session, forMs = SESSION_MS) {
      const { commons } = replicas() ?? {};
      if (!commons) return;
      const isFirst = timer === undefined;
      timer ??= setInterval(() => void beat().catch(() => {}), beatMs);
      timer.unref?.();
      // While it cannot be said, the session is known here and nowhere else.
      await Promise.all([
        isFirst ? beat() : undefined,
        commons.hold(`session:${session}`, self, forMs),
      ]).catch(() => {});
    },
    async route(session, request, response, body) {
      const { commons } = replicas() ?? {};
      if (!commons) return "here";
      if (!SESSION.test(session)) return "gone";
      let home: string | undefined;
      let address: string | undefined;
      try {
        home = await commons.held(`session:${session}`);
        if (home === self) return "here";
        address = home && (await commons.held(`replica:${home}`));
      } catch {
        // Nobody can say where it is. What needs no session is answered all the same.
        return "here";
      }
      // Whoever was sent here was sent to the wrong one, and would be sent around in a circle.
      if (address === undefined || request.headers[FORWARDED] !== undefined) return "gone";
      return forward(request, response, { origin: address, from: self, body });
    },
    close() {
      clearInterval(timer);
    },
  };
}

function originOf(address: string): string {
  return new URL(address).origin;
}

/** An address that stands for all of a machine's leads others nowhere. */
function reachable(url: string): string {
  const place = new URL(url);
  if (place.hostname !== "0.0.0.0" && place.hostname !== "[::]") return url;
  const own = Object.values(networkInterfaces())
    .flat()
    .find((each) => each && !each.internal && each.family === "IPv4");
  place.hostname = own?.address ?? "127.0.0.1";
  return place.href;
}
