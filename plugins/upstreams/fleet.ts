import type PQueue from "p-queue";
import { GatewayError } from "../../core/mod.ts";
import { definitionHash, placeOf, type ServerConfig } from "../sources/server-config.ts";
import { createOffering, type Offering, type OfferingParts } from "./_offering.ts";
import { CONNECT_FAILED, NEEDS_APPROVAL } from "./errors.ts";
import { createLink, type Link, waitAfter } from "./link.ts";
import { type Held, type ServerStatus, standing } from "./server-status.ts";
import type { Remembered } from "./snapshot.ts";
import type { Upstream, UpstreamEvents } from "./upstream.ts";

/** A server with what opens a connection to it. */
export interface Member {
  readonly config: ServerConfig;
  /** It waits for approval, or is switched off. */
  readonly held?: Held | undefined;
  connect(
    events: UpstreamEvents,
    prior: unknown,
    signal: AbortSignal,
  ): Promise<Upstream & { readonly prior?: unknown }>;
}

/** What a fleet is made of. */
export interface FleetParts extends OfferingParts {
  readonly members: readonly Member[];
  readonly idleMs: number;
  readonly concurrency: number;
  readonly maxParallel: number;
  /** How long a listing is fresh. */
  readonly freshMs: number;
  /** Something that is watched has changed. */
  readonly onResourceUpdated?: ((server: string, uri: string) => void) | undefined;
}

/** Every server: its connection, and what it was last seen to offer. */
export interface Fleet {
  /** Publishes what the snapshot remembers. */
  restore(): Promise<void>;
  /**
   * Reads the lists of servers: one, those never seen, those not seen lately, or all. Failures are in their
   * status, and are tried again later where that may help.
   */
  discover(which: { readonly name: string } | "missing" | "stale" | "all"): Promise<void>;
  /** Reads the lists of a server that a call waits for, out of turn. A failure is in its status. */
  ask(name: string): Promise<void>;
  /** Resolves once what a server has said is in the catalog; nothing where nothing is on its way there. */
  published(name: string): Promise<void> | undefined;
  /** Takes what another gateway has read from a server of the same definition, where that is newer. */
  adopt(name: string, listed: unknown): Promise<void>;
  /** Lets a server be used that waited for a person, and asks it for its tools. */
  release(name: string): Promise<void>;
  /** Resolves once no discovery is under way. */
  settled(): Promise<void>;
  link(name: string): Link | undefined;
  status(name: string): ServerStatus | undefined;
  statuses(): readonly ServerStatus[];
  close(): Promise<void>;
}

interface Ship {
  readonly config: ServerConfig;
  readonly link: Link;
  readonly offering: Offering;
  held: Held | undefined;
  /** What its last handshake came to. */
  prior: unknown;
  /** Its discovery, from the moment it waits for its turn. */
  discovering: Promise<void> | undefined;
  reading: Promise<void> | undefined;
  /** Why its last discovery failed, and how many did in a row. */
  failure: GatewayError | undefined;
  failures: number;
  /** Until it is asked again. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** A server may announce a change as often as it likes; it is not asked more often than this. */
const SHORTEST_PAUSE_MS = 1_000;

/** Makes the fleet. Nothing is connected yet. */
export function createFleet(parts: FleetParts): Fleet {
  const { gateway, snapshot } = parts;
  const ships = new Map(parts.members.map((member) => [member.config.name, launch(member)]));
  let queue: Promise<PQueue> | undefined;
  let closed = false;

  const settled = async (): Promise<void> => {
    await Promise.all([...ships.values()].flatMap((ship) => [ship.discovering, ship.reading]));
  };

  return {
    async restore() {
      const remembered = await snapshot?.load();
      for (const ship of ships.values()) {
        const known = remembered?.get(placeOf(ship.config));
        const seen = known?.hash === definitionHash(ship.config) && !ship.held ? known : undefined;
        ship.prior = seen?.prior;
        await ship.offering.restore(seen).catch((thrown: unknown) => refuse(ship, thrown));
        if (seen) parts.onOffer?.(ship.config.name);
      }
    },
    async discover(which) {
      await Promise.all([...ships.values()].filter((ship) => isMeant(ship, which)).map(discover));
    },
    async ask(name) {
      const ship = ships.get(name);
      if (ship && !ship.held) await read(ship);
    },
    published: (name) => ships.get(name)?.offering.publishing,
    async adopt(name, given) {
      const ship = ships.get(name);
      if (!ship || ship.held || closed) return;
      try {
        // The server knows.
        if (!(await ship.offering.adopt(given, ship.prior))) askLater(ship, SHORTEST_PAUSE_MS);
      } catch (thrown) {
        fail(ship, thrown);
      }
    },
    async release(name) {
      const ship = ships.get(name);
      if (ship?.held?.status !== "needs-approval" || closed) return;
      ship.held = undefined;
      await discover(ship);
    },
    settled,
    link: (name) => ships.get(name)?.link,
    status(name) {
      const ship = ships.get(name);
      return ship && describe(ship);
    },
    statuses: () => [...ships.values()].map(describe),
    async close() {
      closed = true;
      for (const ship of ships.values()) clearTimeout(ship.timer);
      await Promise.all([...ships.values()].map((ship) => ship.link.close()));
      await settled();
      await snapshot?.flush();
    },
  };

  function launch({ config, held, connect }: Member): Ship {
    const ship: Ship = {
      config,
      held,
      prior: undefined,
      offering: createOffering(config, parts),
      discovering: undefined,
      reading: undefined,
      failure: undefined,
      failures: 0,
      timer: undefined,
      link: createLink({
        idleMs: parts.idleMs,
        concurrency: parts.concurrency,
        connect: async (events, signal) => {
          if (ship.held) throw heldBack(config, ship.held);
          const upstream = await connect(events, ship.prior, signal);
          ship.prior = upstream.prior;
          return upstream;
        },
        onListChanged: () =>
          askLater(ship, (ship.offering.seen?.savedAt ?? 0) + SHORTEST_PAUSE_MS - Date.now()),
        onResourceUpdated: (uri) => parts.onResourceUpdated?.(config.name, uri),
        onState: () => {
          // What was listed over an earlier connection need not hold for this one.
          if (ship.link.state === "connected") void discover(ship);
        },
      }),
    };
    return ship;
  }

  function isMeant(ship: Ship, which: Parameters<Fleet["discover"]>[0]): boolean {
    if (ship.held) return false;
    if (which === "all") return true;
    if (which === "missing") return ship.offering.seen === undefined;
    if (which === "stale") return !isFresh(ship.offering.seen, parts.freshMs);
    return ship.config.name === which.name;
  }

  function discover(ship: Ship): Promise<void> {
    ship.discovering ??= readLists(ship).finally(() => {
      ship.discovering = undefined;
    });
    return ship.discovering;
  }

  function askLater(ship: Ship, ms: number): void {
    clearTimeout(ship.timer);
    if (closed) return;
    ship.timer = setTimeout(async () => {
      // What is being read right now may be older than what made us ask.
      await ship.reading;
      await ship.discovering;
      await discover(ship);
    }, ms);
    ship.timer.unref?.();
  }

  /** A few at a time: each may start a process. One that is connected already need not wait. */
  async function readLists(ship: Ship): Promise<void> {
    if (ship.link.state === "connected") return read(ship);
    queue ??= import("p-queue").then(({ default: Queue }) => new Queue({ concurrency: parts.maxParallel }));
    // One that failed may take its time to fail again, and the others would wait for it.
    await (await queue).add(() => read(ship), { priority: -ship.failures });
  }

  function read(ship: Ship): Promise<void> {
    ship.reading ??= readNow(ship).finally(() => {
      ship.reading = undefined;
    });
    return ship.reading;
  }

  async function readNow(ship: Ship): Promise<void> {
    if (closed) return;
    clearTimeout(ship.timer);
    try {
      const listing = await ship.link.list();
      await ship.offering.take({ listing, info: ship.link.info, prior: ship.prior });
      ship.failure = undefined;
      ship.failures = 0;
    } catch (thrown) {
      if (!closed) fail(ship, thrown);
    }
  }

  function fail(ship: Ship, thrown: unknown): void {
    const failure = GatewayError.from(thrown, `The server "${ship.config.name}" could not be listed.`);
    // It is told once, and not every minute.
    if (failure.message !== ship.failure?.message) gateway.report(failure);
    ship.failure = failure;
    // A timer may be a little early.
    const wait = Math.max(ship.link.retryInMs + 10, waitAfter(ship.failures));
    ship.failures++;
    if (failure.kind.retry) askLater(ship, wait);
  }

  /** Its name may be one that the gateway itself needs. The other servers are none the worse for it. */
  function refuse(ship: Ship, thrown: unknown): void {
    fail(ship, thrown);
    if (ship.failure?.code === "CONFIG_INVALID") {
      ship.held = { status: "error", reason: ship.failure.message };
    }
  }
}

function describe({ config, held, link, offering: { seen, refused }, failure }: Ship): ServerStatus {
  const { status, reason } = held ?? standing(link, link.failure ?? failure);
  return {
    name: config.name,
    status,
    reason,
    config,
    info: link.info ?? seen?.info,
    listing: seen && { ...seen.listing, rejected: [...seen.listing.rejected, ...refused] },
    listedAt: seen?.savedAt,
  };
}

function isFresh(seen: Remembered | undefined, freshMs: number): boolean {
  const age = seen ? Date.now() - seen.savedAt : Number.POSITIVE_INFINITY;
  // Below zero, one of two clocks was wrong.
  return age >= 0 && age < freshMs;
}

function heldBack({ name }: ServerConfig, { status, reason }: Held): GatewayError {
  const kind = status === "needs-approval" ? NEEDS_APPROVAL : CONNECT_FAILED;
  return new GatewayError(kind, `The server "${name}" is not connected: ${reason}`);
}
