/** Resolves when a signal asks this process to end; the next one waits for nothing. */
export function untilTold(): Promise<void> {
  return new Promise((resolve) => {
    let told = false;
    const onSignal = (): void => {
      if (told) process.exit(1);
      told = true;
      resolve();
    };
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
  });
}
