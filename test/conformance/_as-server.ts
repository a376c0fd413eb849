import { getBaseline, type Target } from "./_baseline.ts";
import { findFaults } from "./_checks.ts";
import { startGateway } from "./_gateway.ts";
import type { Found, Revision, Suite } from "./_suite.ts";
import { everythingServer } from "./everything-server.ts";

const IMPATIENT = "server-stateless";

/** Runs the scored scenarios of some revisions against the fixture, or against a gateway to it. */
export async function asServer(
  suite: Suite,
  target: Exclude<Target, "client">,
  revisions: readonly Revision[],
): Promise<ReadonlyMap<Revision, Found>> {
  const fixture = await everythingServer({ protocols: target === "passthrough-older" ? "legacy" : "both" });
  const preset = target === "anygpt" ? "anygpt" : "passthrough";
  const gateway = target === "fixture" ? undefined : await startGateway(preset, fixture.url);
  const url = gateway?.url ?? fixture.url;
  const found = new Map<Revision, Found>();
  try {
    await ready(url);
    for (const revision of revisions) {
      const all = await suite.server(url, revision);
      found.set(revision, new Map([...all, ...(await again(url, revision, all))]));
    }
  } finally {
    await gateway?.close();
    await fixture.close();
  }
  return found;

  /** A gateway does not wait for its servers when it starts, and knows what one can do once it was used. */
  async function ready(url: string): Promise<void> {
    const scenario = "tools-call-simple-text";
    for (let tries = 0; tries < 30; tries++) {
      const first = await suite.server(url, "2025-11-25", scenario);
      if (findFaults(first.get(scenario)).length === 0) return;
    }
  }

  /** It gives us half a second for each answer: it is tried again before it counts against a busy machine. */
  async function again(url: string, revision: Revision, before: Found): Promise<Found> {
    let now = before;
    const isKnown = !before.has(IMPATIENT) || getBaseline(target, revision).has(IMPATIENT);
    for (let tries = 0; tries < 3 && !isKnown && findFaults(now.get(IMPATIENT)).length > 0; tries++) {
      now = await suite.server(url, revision, IMPATIENT);
    }
    return now;
  }
}
