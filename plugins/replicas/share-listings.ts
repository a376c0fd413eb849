import { randomUUID } from "node:crypto";
import * as v from "valibot";
import { type Gateway, GatewayError, type JsonObject } from "../../core/mod.ts";
import { definitionHash } from "../../core/services/sources.ts";
import type { SharedState } from "../../core/services/state.ts";

/** Passes on what servers say, from one gateway to the others. */
export interface Sharing {
  start(): void;
  stop(): Promise<void>;
}

const TOPIC = "catalog";
/** As long as a snapshot of the catalog is kept. */
const KEEP_MS = 30 * 24 * 3_600_000;
const LONGEST_WAIT_MS = 30_000;

const notice = v.object({ from: v.string(), server: v.string(), hash: v.string() });

/**
 * Makes what passes on what servers say. It is kept where all can see it, and only that it is there is told: who does
 * not hear it finds it there later. What fails is tried again until it does not. A server is meant by its definition, wherever the files of a replica are.
 */
export function shareListings(gateway: Gateway, shared: SharedState): Sharing {
  const { servers } = gateway.services;
  const self = randomUUID();
  /** What could not be told. */
  const untold = new Map<string, Readonly<JsonObject>>();
  const underWay = new Set<Promise<void>>();
  let end = (): void => {};
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;

  const run = (work: () => Promise<void>): void => {
    const done: Promise<void> = work()
      .then(
        () => {
          failures = 0;
        },
        (thrown: unknown) => {
          // Once, and not every time.
          if (failures === 0) gateway.report(GatewayError.from(thrown));
          retry();
        },
      )
      .finally(() => underWay.delete(done));
    underWay.add(done);
  };
  const retry = (): void => {
    clearTimeout(timer);
    if (isOver) return;
    timer = setTimeout(() => run(catchUp), Math.min(1_000 * 2 ** failures++, LONGEST_WAIT_MS));
    timer.unref?.();
  };

  servers?.on({ listed: (server, listed) => run(() => tell(server, listed)) });

  return {
    start() {
      end = shared.subscribe(
        TOPIC,
        (message) => run(() => hear(message)),
        () => run(catchUp),
      );
      run(catchUp);
    },
    async stop() {
      isOver = true;
      clearTimeout(timer);
      end();
      await Promise.all(underWay);
    },
  };

  async function tell(server: string, listed: Readonly<JsonObject>): Promise<void> {
    const hash = String(listed["hash"]);
    untold.set(server, listed);
    const at = Number(listed["savedAt"]) || 0;
    // Who could not tell something for a while may come after somebody who has asked the server since.
    if (await shared.put(nameOf(hash), JSON.stringify(listed), KEEP_MS, at)) {
      await shared.publish(TOPIC, JSON.stringify({ from: self, server, hash }));
    }
    if (untold.get(server) === listed) untold.delete(server);
  }

  async function hear(message: string): Promise<void> {
    const told = noticeOf(message);
    const config = told && servers?.status(told.server)?.config;
    // Another gateway of the same Redis may have another server of this name.
    if (!told || !config || told.from === self || definitionHash(config) !== told.hash) return;
    // Nothing waits for a server that may be slow.
    if (!(await reread(told.server, told.hash))) void servers?.refresh(told.server);
  }

  /** Whether there was something to read. */
  async function reread(server: string, hash: string): Promise<boolean> {
    const listed = await shared.get(nameOf(hash));
    if (listed === undefined) return false;
    await servers?.adopt(server, jsonOf(listed));
    return true;
  }

  async function catchUp(): Promise<void> {
    for (const [server, listed] of untold) await tell(server, listed);
    for (const { name, config } of servers?.statuses() ?? []) await reread(name, definitionHash(config));
  }
}

function nameOf(hash: string): string {
  return `listing:${hash}`;
}

function noticeOf(message: string): v.InferOutput<typeof notice> | undefined {
  const { success, output } = v.safeParse(notice, jsonOf(message));
  return success ? output : undefined;
}

/** Somebody else may have written it. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
