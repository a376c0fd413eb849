import { Buffer } from "node:buffer";
import { type Actor, GatewayError, localUser, type Tool, type ToolResult } from "../../core/mod.ts";
import { RESOURCE_NOT_FOUND, type Resource } from "../../core/services/resources.ts";
import type { Results } from "../../core/services/results.ts";
import { waitAtMost } from "../lib/backoff.ts";
import { cutResult } from "./cut.ts";
import type { ResultsSettings } from "./mod.ts";
import {
  createResultId,
  describeRunning,
  isResultUri,
  type Page,
  parseResultUri,
  type ResultPart,
  type RunningCall,
  readPage,
  toResultUri,
  toRunningResult,
} from "./page.ts";
import { countJsonBytes, fitsBudget } from "./size.ts";

/** The kept results of a gateway. */
export interface KeptResults extends Results {
  /** Reads a URI; undefined if it is not one of a result. Throws if there is no such result any more. */
  find(uri: string, actor: Actor): Page | undefined;
  /** Resolves once the call whose result a URI names has ended, or after `ms`. */
  settled(uri: string, options: { actor: Actor; ms: number; signal: AbortSignal }): Promise<void>;
  /** Lists the results that an actor can read. */
  list(actor: Actor): readonly Resource[];
}

interface KeptResult {
  /** Owner of the result; no other actor finds it. */
  readonly actor: string;
  readonly bytes: number;
  readonly parts: ReadonlyMap<string, ResultPart>;
  /** The content under the URI of the whole result; undefined if that URI was never given out. */
  readonly shown: ToolResult | undefined;
}

/** Bytes of a page that are left for its note. */
const NOTE_BYTES = 1_000;

/** Keeps the omitted parts of results. Links into `former`, the results before a reload, stay valid. */
export function createKeptResults(
  settings: ResultsSettings,
  tool: Tool,
  former?: KeptResults | undefined,
): KeptResults {
  const { maxBytes, waitMs, keepMs } = settings;
  const store = createStore(keepMs, settings.maxKeptBytes);
  const running = new Map<string, RunningCall>();
  /** Results that were read by their URI, by their `content`: the result object itself may be copied on the way. */
  const read = new WeakSet<object>();

  return {
    tool,
    waitMs,
    fit(result, { id: actor }, { keepStructured = false } = {}) {
      if (read.has(result.content)) return result;
      const id = createResultId();
      const { shown, parts } = cutResult(result, { ...settings, id, keepStructured });
      const bytes = countBytes(parts);
      if (!store.holds(bytes)) return cutResult(result, { ...settings, id: undefined, keepStructured }).shown;
      store.put(id, { actor, parts, shown: undefined, bytes });
      return shown;
    },
    later(result, { actor = localUser, name, progress }) {
      if (running.size >= settings.maxRunning) return undefined;
      const id = createResultId();
      const done = result.then((settled) => {
        running.delete(id);
        const cut = fitsBudget(settled, settings)
          ? { shown: settled, parts: new Map<string, ResultPart>() }
          : cutResult(settled, { ...settings, id, keepStructured: false });
        const bytes = countBytes(cut.parts) + countJsonBytes(cut.shown, maxBytes + settings.maxMediaBytes);
        if (store.holds(bytes)) return store.put(id, { actor: actor.id, ...cut, bytes });
        const { shown } = cutResult(settled, { ...settings, id: undefined, keepStructured: false });
        store.put(id, { actor: actor.id, parts: new Map(), shown, bytes: 0 });
      });
      const call = { actor: actor.id, name, startedAt: performance.now() - waitMs, progress, done };
      running.set(id, call);
      return toRunningResult(call, toResultUri(id));
    },
    find(uri, actor) {
      const parsed = parseResultUri(uri);
      if (!parsed) {
        if (!isResultUri(uri)) return undefined;
        throw notFound(uri, keepMs);
      }
      const { id, part: name, offset } = parsed;
      const call = running.get(id);
      if (call?.actor === actor.id && name === undefined) {
        return { text: describeRunning(call, uri), mimeType: "text/plain", next: undefined };
      }
      const kept = store.get(id, actor.id);
      if (kept && name === undefined && kept.shown) return markRead({ result: kept.shown });
      const part = name === undefined ? undefined : kept?.parts.get(name);
      if (part && name !== undefined) {
        return markRead(readPage(part, { id, name, offset, maxBytes: maxBytes - NOTE_BYTES }));
      }
      const before = former?.find(uri, actor);
      if (before) return markRead(before);
      throw notFound(uri, keepMs);
    },
    async settled(uri, wait) {
      const { actor, ms, signal } = wait;
      const call = running.get(parseResultUri(uri)?.id ?? "");
      if (call?.actor !== actor.id) return former?.settled(uri, wait);
      await waitAtMost(call.done, ms, signal);
    },
    list({ id: actor }) {
      const pending = [...running].flatMap(([id, call]) =>
        call.actor === actor
          ? [{ uri: toResultUri(id), name: call.name, description: "It is still running." }]
          : [],
      );
      const kept = store.list(actor).flatMap(([id, { parts, shown }]) => [
        ...(shown ? [{ uri: toResultUri(id), name: "result" }] : []),
        ...[...parts].map(([name, { mimeType }]) => ({
          uri: toResultUri(id, name),
          name: `${name} of a result`,
          mimeType,
        })),
      ]);
      return [...pending, ...kept];
    },
  };

  /** Marks a result that was read by its URI: it is handed over as it is, since cutting it again would help no agent. */
  function markRead(page: Page): Page {
    if ("result" in page) read.add(page.result.content);
    return page;
  }
}

function notFound(uri: string, keepMs: number): GatewayError {
  const minutes = Math.max(1, Math.round(keepMs / 60_000));
  return new GatewayError(
    RESOURCE_NOT_FOUND,
    `There is no result under this URI, or not any more: what is not shown is kept for ${minutes} min after it was last read, and less where much is kept. If the tool only reads, execute it again.`,
    { data: { uri: uri.slice(0, 200) } },
  );
}

function countBytes(parts: ReadonlyMap<string, ResultPart>): number {
  let bytes = 0;
  for (const part of parts.values()) {
    bytes +=
      "text" in part ? Buffer.byteLength(part.text) : countJsonBytes(part.block, Number.MAX_SAFE_INTEGER);
  }
  return bytes;
}

/** A store in memory, bounded in number, bytes and time. */
interface ResultStore {
  /** Whether a result of this size can be kept at all. */
  holds(bytes: number): boolean;
  put(id: string, entry: KeptResult): void;
  get(id: string, actor: string): KeptResult | undefined;
  /** Lists the results of an actor, the newest first. */
  list(actor: string): readonly (readonly [id: string, entry: KeptResult])[];
}

const MAX_ENTRIES = 1_000;

/** Creates an empty store. All results are kept equally long, so the first of the map is always the first to expire. */
function createStore(keepMs: number, maxBytes: number): ResultStore {
  const entries = new Map<string, { readonly entry: KeptResult; readonly until: number }>();
  let bytes = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  return {
    holds: (size) => size <= maxBytes,
    put(id, entry) {
      drop(id);
      while (entries.size >= MAX_ENTRIES || (entries.size > 0 && bytes + entry.bytes > maxBytes)) dropFirst();
      keep(id, entry);
    },
    get(id, actor) {
      dropExpired();
      const found = entries.get(id)?.entry;
      if (found?.actor !== actor) return undefined;
      // Kept anew: an agent that reads page by page must not lose the rest on the way.
      drop(id);
      keep(id, found);
      return found;
    },
    list(actor) {
      dropExpired();
      const own = [...entries].filter(([, { entry }]) => entry.actor === actor);
      return own.map(([id, { entry }]) => [id, entry] as const).toReversed();
    },
  };

  function keep(id: string, entry: KeptResult): void {
    entries.set(id, { entry, until: performance.now() + keepMs });
    bytes += entry.bytes;
    arm();
  }

  function drop(id: string): void {
    bytes -= entries.get(id)?.entry.bytes ?? 0;
    entries.delete(id);
  }

  function dropFirst(): void {
    const [first] = entries.keys();
    if (first !== undefined) drop(first);
  }

  function dropExpired(): void {
    for (const [id, { until }] of entries) {
      if (until > performance.now()) return;
      drop(id);
    }
  }

  /** Frees memory also if the store is not used again. */
  function arm(): void {
    if (timer) return;
    timer = setTimeout(() => {
      timer = undefined;
      dropExpired();
      if (entries.size > 0) arm();
    }, keepMs);
    timer.unref?.();
  }
}
