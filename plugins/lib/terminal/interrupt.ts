import { GatewayError } from "../../../core/mod.ts";

/** The signals that ask a process to end, and what it ends with by convention: 128 and the number of the signal. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Does work that can be told to stop, and returns its exit code. A second signal is nobody's to catch, so that
 * whoever is in a hurry need not wait.
 */
export async function untilInterrupted(work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const controller = new AbortController();
  let code: number | undefined;
  const listeners = Object.entries(SIGNALS).map(([name, exit]) => {
    const listener = (): void => {
      code ??= exit;
      controller.abort(new GatewayError("CANCELLED", "The call was interrupted."));
    };
    process.once(name, listener);
    return () => process.off(name, listener);
  });
  try {
    const own = await work(controller.signal);
    return code ?? own;
  } finally {
    for (const remove of listeners) remove();
  }
}

/** Resolves with the signal that asks this process to end; the next one waits for nothing. */
export function untilTold(): Promise<"SIGINT" | "SIGTERM"> {
  return new Promise((resolve) => {
    let told = false;
    const onSignal = (signal: "SIGINT" | "SIGTERM") => (): void => {
      if (told) process.exit(1);
      told = true;
      resolve(signal);
    };
    process.on("SIGINT", onSignal("SIGINT"));
    process.on("SIGTERM", onSignal("SIGTERM"));
  });
}
