import type { Client } from "@modelcontextprotocol/client";
import { isAnswer } from "./_mcp-errors.ts";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * Asks a server of the newer era to tell when its lists change; those of the older one do so unasked. The
 * stream may end at any time and is then opened again, until the server refuses or the signal is aborted.
 */
export async function keepSubscribed(
  client: Client,
  signal: AbortSignal,
  onMissed: () => void,
): Promise<void> {
  const capabilities = client.getServerCapabilities();
  const filter = {
    ...(capabilities?.tools?.listChanged ? { toolsListChanged: true } : {}),
    ...(capabilities?.prompts?.listChanged ? { promptsListChanged: true } : {}),
    ...(capabilities?.resources?.listChanged ? { resourcesListChanged: true } : {}),
  };
  if (client.getProtocolEra() !== "modern" || Object.keys(filter).length === 0) return;
  for (let failures = 0; !signal.aborted; failures++) {
    const openedAt = performance.now();
    try {
      const subscription = await client.listen(filter, { signal });
      if (failures > 0) onMissed();
      await subscription.closed;
    } catch (thrown) {
      if (isAnswer(thrown)) return;
    }
    if (performance.now() - openedAt > LONGEST_WAIT_MS) failures = 0;
    await pause(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures), signal);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    timer.unref?.();
    signal.addEventListener("abort", done);
  });
}
