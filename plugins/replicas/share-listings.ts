import { randomUUID } from "node:crypto";
import * as v from "valibot";
import { type Gateway, GatewayError, type JsonObject } from "../../core/mod.ts";
import type { SharedState } from "../../core/services/state.ts";
import { backoffDelay } from "../lib/backoff.ts";
import { hashServer } from "../lib/hash.ts";
import { parseJson } from "../lib/json.ts";

const TOPIC = "catalog";
/** The time for which a snapshot of the catalog is kept. */
const KEEP_MS = 30 * 24 * 3_600_000;
const BACKOFF = { initialDelayMs: 1_000, maxDelayMs: 30_000 };

const notice = v.object({ from: v.string(), server: v.string(), hash: v.string() });

/**
 * Shares the listings of servers between replicas. A listing is stored in the shared state, and a notice names it: a
 * replica that misses the notice finds the listing later. Failures are retried until they succeed. A listing is keyed by
 * the definition of its server, since names and files may differ between replicas.
 */
export function shareListings(
  gateway: Gateway,
  shared: SharedState,
): { start(): void; stop(): Promise<void> } {
  const { servers } = gateway.services;
  const self = randomUUID();
  /** Listings that could not be published yet, by server. */
  const unpublished = new Map<string, Readonly<JsonObject>>();
  const pending = new Set<Promise<void>>();
  let unsubscribe = (): void => {};
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;

  const run = (work: () => Promise<void>): void => {
    const done: Promise<void> = work()
      .then(
        () => {
          failures = 0;
        },
        (thrown: unknown) => {
          // Reported once, not with every retry.
          if (failures === 0) gateway.report(GatewayError.from(thrown));
          retry();
        },
      )
      .finally(() => pending.delete(done));
    pending.add(done);
  };
  const retry = (): void => {
    clearTimeout(timer);
    if (isStopped) return;
    timer = setTimeout(() => run(catchUp), backoffDelay(failures++, BACKOFF));
    timer.unref?.();
  };

  servers?.on({ listed: (server, listed) => run(() => publish(server, listed)) });

  return {
    start() {
      unsubscribe = shared.subscribe(
        TOPIC,
        (message) => run(() => receive(message)),
        () => run(catchUp),
      );
      run(catchUp);
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      unsubscribe();
      await Promise.all(pending);
    },
  };

  async function publish(server: string, listed: Readonly<JsonObject>): Promise<void> {
    const hash = String(listed["hash"]);
    unpublished.set(server, listed);
    const at = Number(listed["savedAt"]) || 0;
    // Another replica may have listed the server again while this one could not publish: the newer listing stays.
    if (await shared.put(toKey(hash), JSON.stringify(listed), KEEP_MS, at)) {
      await shared.publish(TOPIC, JSON.stringify({ from: self, server, hash }));
    }
    if (unpublished.get(server) === listed) unpublished.delete(server);
  }

  async function receive(message: string): Promise<void> {
    const { success, output } = v.safeParse(notice, parseJson(message));
    if (!success || output.from === self) return;
    const { server, hash } = output;
    const config = servers?.status(server)?.config;
    // Another gateway on the same Redis may have a different server of this name.
    if (!config || hashServer(config) !== hash) return;
    // Not awaited: the server may be slow.
    if (!(await adopt(server, hash))) void servers?.refresh(server);
  }

  /** Adopts the stored listing of a server. Returns false if there is none. */
  async function adopt(server: string, hash: string): Promise<boolean> {
    const listed = await shared.get(toKey(hash));
    if (listed === undefined) return false;
    await servers?.adopt(server, parseJson(listed));
    return true;
  }

  async function catchUp(): Promise<void> {
    for (const [server, listed] of unpublished) await publish(server, listed);
    for (const { name, config } of servers?.statuses() ?? []) await adopt(name, hashServer(config));
  }
}

function toKey(hash: string): string {
  return `listing:${hash}`;
}
