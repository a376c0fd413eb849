import { spawn } from "node:child_process";
import { GatewayError } from "../../../core/mod.ts";

/** Signals that ask a process to end, and its exit codes by convention: 128 plus the number of the signal. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs work that a signal can cancel, and returns its exit code. A second signal is not caught, so that it ends the
 * process at once.
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

/** Resolves with the signal that asks this process to end; a second one ends it at once. */
export function untilSignal(): Promise<"SIGINT" | "SIGTERM"> {
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

/** Opens a URL in the user's browser. A failure is ignored: the URL is printed too. */
export function openBrowser(url: string): void {
  const [program, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler", url]
        : ["xdg-open", url];
  spawn(program as string, args, { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
