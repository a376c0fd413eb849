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

/** Finds out whether a server that is silent while its calls time out hangs. */
interface HangCheck {
  /** Notes a call that has timed out. */
  timedOut(upstream: Upstream, sentAt: number): void;
  /** Notes that the server works. */
  worked(): void;
}

/** Time for a server to show that it still works, once its calls time out. */
const PING_MS = 2_000;

/** Creates the check of one connection. A slow server answers a ping, and a hung one does not. */
export function createHangCheck(options: HangCheckOptions): HangCheck {
  let silentTimeouts = 0;
  let isAsking = false;
  return {
    timedOut(upstream, sentAt) {
      if (isAsking || !upstream.ping || !options.isOpen(upstream)) return;
      silentTimeouts = (upstream.heardAt?.() ?? 0) > sentAt ? 0 : silentTimeouts + 1;
      if (silentTimeouts >= options.maxSilentTimeouts()) void ask(upstream);
    },
    worked() {
      silentTimeouts = 0;
    },
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
