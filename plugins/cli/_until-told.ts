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
