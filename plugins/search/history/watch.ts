import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Actor,
  type Gateway,
  GatewayError,
  type Hooks,
  localUser,
  type SettledCall,
} from "../../../core/mod.ts";
import { memoryStore } from "../../state/mod.ts";
import type { Ranker, Ranking } from "../ranker.ts";
import { digestOf } from "./digest.ts";
import { type HistoryOptions, historyDefaults } from "./options.ts";
import { type HistoryStore, historyStore } from "./store.ts";
import { type Memory, withHistory } from "./with-history.ts";

/** Sees which searches lead to which tools, and remembers it for whoever searched. */
export interface Watch extends Memory {
  /** The same ranker, but it has this memory. */
  ranker(ranker: Ranker): Ranker;
  /** A search was answered. */
  searched(query: string, ranking: Ranking): void;
  /** What it takes part in the pipeline with. */
  readonly hooks: Pick<Hooks, "execute" | "audit" | "close">;
}

/** A search that may still lead to a tool. Of the query itself, nothing is kept. */
interface Pending {
  readonly at: number;
  readonly digest: string;
  readonly tools: ReadonlySet<string>;
  /** Those it has led to: each counts once. */
  readonly used: Set<string>;
}

const MAX_PENDING = 8;
const MAX_ACTORS = 500;
const MAX_TOOLS = 50;
const TIDY_MS = 86_400_000;

/**
 * Watches the calls of a gateway. What it remembers is kept in its state or, where it has none, until it closes.
 * Neither a search nor an execution fails for what cannot be read or written.
 */
export function watchGateway(gateway: Gateway, given: true | HistoryOptions): Watch {
  const options = given === true ? {} : given;
  const { minutes = historyDefaults.minutes } = options;
  // A search is asked for by a meta-tool on somebody's behalf, and the call it runs in knows whose.
  const asking = new AsyncLocalStorage<Actor>();
  const pending = new Map<string, Pending[]>();
  let kept: HistoryStore | undefined;
  let work = Promise.resolve();
  let tidiedAt = Number.NEGATIVE_INFINITY;
  let isTold = false;

  const actorNow = (): string => (asking.getStore() ?? localUser).id;
  const store = (): HistoryStore => {
    kept ??= historyStore(gateway.services.state ?? memoryStore(), options);
    return kept;
  };
  const trouble = (thrown: unknown): void => {
    if (!isTold) gateway.report(GatewayError.from(thrown));
    isTold = true;
  };
  /** One after another: they would only get into each other's way. */
  const later = (step: () => Promise<void>): void => {
    work = work.then(step).catch(trouble);
  };
  const tidyDaily = (): void => {
    if (Date.now() - tidiedAt < TIDY_MS) return;
    tidiedAt = Date.now();
    later(() => store().tidy());
  };

  const search = (actor: string, one: Pending): void => {
    const own = pending.get(actor) ?? [];
    pending.delete(actor);
    pending.set(actor, [...own.slice(1 - MAX_PENDING), one]);
    const [first] = pending.keys();
    if (pending.size > MAX_ACTORS && first !== undefined) pending.delete(first);
  };
  /** The last search before a call that showed its tool. */
  const searchBefore = ({ actor, startedAt, tool }: SettledCall): Pending | undefined =>
    pending
      .get(actor.id)
      ?.findLast(
        ({ at, tools }) =>
          at <= startedAt && startedAt - at <= minutes * 60_000 && tool !== undefined && tools.has(tool.id),
      );

  const recall: Memory["recall"] = async (query) => {
    // So that what somebody has just used counts, however slow the disk is.
    await work;
    try {
      return await store().recall(actorNow(), query);
    } catch (thrown) {
      trouble(thrown);
      return new Map();
    } finally {
      tidyDaily();
    }
  };

  return {
    recall,
    ranker: (ranker) => withHistory(ranker, { recall }),
    searched(query, { hits, nearest }) {
      const tools = [...hits.map(({ tool }) => tool), ...nearest].slice(0, MAX_TOOLS);
      if (tools.length === 0) return;
      const actor = actorNow();
      const digest = digestOf(actor, query);
      if (digest === "") return;
      search(actor, { at: Date.now(), digest, tools: new Set(tools.map(({ id }) => id)), used: new Set() });
    },
    hooks: {
      execute: (call, next) => (call.tool?.builtin ? asking.run(call.actor, next) : next()),
      audit(call) {
        // Only what really ran counts, and went well: not an answer in place of the tool's.
        if (!call.ok || call.result.isError || call.via !== undefined || call.tool?.builtin !== false) return;
        if (call.result.resultType === "input_required") return;
        const { actor, tool } = call;
        const led = searchBefore(call);
        if (!led || led.used.has(tool.id)) return;
        led.used.add(tool.id);
        later(() => store().remember(actor.id, led.digest, tool.id));
      },
      close: () => work,
    },
  };
}
