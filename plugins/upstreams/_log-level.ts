const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/**
 * Keeps a server of the older era as talkative as the most curious client wants it: there is one level for all who share
 * the connection, and what is too much for the others is not passed on to them.
 */
export function logLevel(setLevel: (level: string) => Promise<unknown>): (level: unknown) => Promise<void> {
  let current: number | undefined;
  return async (level) => {
    const wanted = levels.indexOf(String(level));
    if (wanted < 0 || (current !== undefined && current <= wanted)) return;
    const before = current;
    current = wanted;
    try {
      await setLevel(String(level));
    } catch {
      // That a server says too little must not cost the call.
      current = before;
    }
  };
}
