import { describe, expect, test } from "vitest";
import { asServer } from "./_as-server.ts";
import { compareBaseline } from "./_baseline.ts";
import { findFaults } from "./_checks.ts";
import { clientCommand } from "./_client-command.ts";
import { findSuite, type Revision, revisions } from "./_suite.ts";

// The whole of it is `npm run conformance`; these are the parts that take seconds.
const suite = findSuite();
const LIMIT_MS = 300_000;

describe.skipIf(!suite)("the conformance suite of the protocol (needs Node 24 with the suite)", () => {
  test.each(["passthrough", "passthrough-older", "anygpt"] as const)(
    "finds nothing new in a server: %s",
    async (target) => {
      const found = suite && (await asServer(suite, target, revisions));
      for (const revision of revisions) {
        const scored = (await suite?.scored(revision, "server")) ?? [];
        expect(scored).toHaveLength(revision === "2025-11-25" ? 30 : 37);
        const outcome = compareBaseline(target, revision, scored, found?.get(revision) ?? new Map());
        expect(outcome.surprises).toEqual([]);
      }
    },
    LIMIT_MS,
  );

  test.each<[string, Revision]>([
    ["initialize", "2025-11-25"],
    ["elicitation-sep1034-client-defaults", "2025-11-25"],
    ["sse-retry", "2025-11-25"],
    ["auth/scope-step-up", "2026-07-28"],
    ["auth/authorization-server-migration", "2026-07-28"],
    ["auth/iss-wrong-issuer", "2026-07-28"],
    ["sep-2322-client-request-state", "2026-07-28"],
    ["http-invalid-tool-headers", "2026-07-28"],
  ])(
    "has no fault to find with us as a client in %s of %s",
    async (scenario, revision) => {
      expect(findFaults(await suite?.client(clientCommand(), revision, scenario))).toEqual([]);
    },
    LIMIT_MS,
  );

  test("has as many scenarios for clients as are known here", async () => {
    const scored = await Promise.all(revisions.map((revision) => suite?.scored(revision, "client")));
    expect(scored.map((names) => names?.length)).toEqual([18, 32]);
  });
});
