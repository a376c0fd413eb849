import type { Upstream } from "../../core/services/servers.ts";

/** Access of the check to the connection that it watches. */
interface HangCheckOptions {
  /** Calls in a row that time out in silence, after which the server is asked whether it still works. */
  readonly maxSilentTimeouts: () => number;
  readonly isOpen: (upstream: Upstream) => boolean;
  /** Sets the reason for the state of the connection; without one, there is nothing to say. */
  readonly setReason: (reason: string | undefined) => void;
  /** Called when the server does not answer any more. */
  readonly onHung: (reason: string) => void;
}

/** Time for a server to show that it still works, once its calls time out. */
const PING_MS = 2_000;

/**
 * Creates the check of one connection: it is told of each call that has timed out, and when it was sent. A slow server
 * answers a ping, and a hung one does not.
 */
export function createHangCheck(
  options: HangCheckOptions,
): (upstream: Upstream, call: { readonly sentAt: number; readonly endedAt: number }) => void {
  let silentTimeouts = 0;
  let lastAt = 0;
  let isAsking = false;
  return (upstream, { sentAt, endedAt }) => {
    if (isAsking || !upstream.ping || !options.isOpen(upstream)) return;
    const heardAt = upstream.heardAt?.() ?? 0;
    // Calls that were answered meanwhile were heard too.
    if (heardAt > lastAt) silentTimeouts = 0;
    lastAt = endedAt;
    if (heardAt > sentAt) return;
    silentTimeouts++;
    if (silentTimeouts >= options.maxSilentTimeouts()) void ask(upstream);
  };

  async function ask(upstream: Upstream): Promise<void> {
    const silence = `It has not answered ${silentTimeouts} calls in time`;
    isAsking = true;
    options.setReason(`${silence}; it is asked whether it still works.`);
    const answers = await upstream.ping?.(PING_MS).then(
      () => true,
      () => false,
    );
    isAsking = false;
    silentTimeouts = 0;
    if (!options.isOpen(upstream)) return;
    if (answers) options.setReason(undefined);
    else options.onHung(`${silence} and no ping within ${PING_MS / 1_000} s, so it was ended.`);
  }
}
