import { Buffer } from "node:buffer";
import { type Actor, GatewayError, localUser, type Tool, type ToolResult } from "../../core/mod.ts";
import { RESOURCE_NOT_FOUND, type Resource } from "../../core/services/resources.ts";
import type { Results } from "../../core/services/results.ts";
import { cutResult, type ResultPart } from "./cut.ts";
import {
  createResultId,
  describeRunning,
  isResultUri,
  parseResultUri,
  type RunningCall,
  toResultUri,
  toRunningResult,
} from "./links.ts";
import type { ResultsSettings } from "./mod.ts";
import { type Page, readPage } from "./page.ts";
import { createShelf, type Shelved } from "./shelf.ts";
import { countJsonBytes, fitsBudget } from "./size.ts";

/** Options of {@link KeptResults.settled}. */
export interface WaitOptions {
  readonly actor: Actor;
  readonly ms: number;
  readonly signal: AbortSignal;
}

/** The kept results of a gateway. */
export interface KeptResults extends Results {
  /** Reads a URI; undefined if it is not one of a result. Throws if there is no such result any more. */
  find(uri: string, actor: Actor): Page | undefined;
  /** Resolves once the call whose result a URI names has ended, or after `ms`. */
  settled(uri: string, options: WaitOptions): Promise<void>;
  /** Lists the results that an actor can read. */
  list(actor: Actor): readonly Resource[];
}

interface KeptResult extends Shelved {
  readonly parts: ReadonlyMap<string, ResultPart>;
  /** The content under the URI of the whole result; undefined if that URI was never given out. */
  readonly shown: ToolResult | undefined;
}

/** Bytes of a page that are left for its note. */
const NOTE_BYTES = 1_000;

/** Keeps the parts of results that agents were not shown. Links into `former`, the store before a reload, stay valid. */
export function createKeptResults(
  settings: ResultsSettings,
  tool: Tool,
  former?: KeptResults | undefined,
): KeptResults {
  const { maxBytes, waitMs, keepMs } = settings;
  const shelf = createShelf<KeptResult>({ keepMs, maxBytes: settings.maxKeptBytes });
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
      if (!shelf.holds(bytes)) return cutResult(result, { ...settings, id: undefined, keepStructured }).shown;
      shelf.put(id, { actor, parts, shown: undefined, bytes });
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
        if (shelf.holds(bytes)) return shelf.put(id, { actor: actor.id, ...cut, bytes });
        const { shown } = cutResult(settled, { ...settings, id: undefined, keepStructured: false });
        shelf.put(id, { actor: actor.id, parts: new Map(), shown, bytes: 0 });
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
      const kept = shelf.get(id, actor.id);
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
      let timer: ReturnType<typeof setTimeout> | undefined;
      let stop: () => void = () => {};
      const stopped = new Promise<void>((resolve) => {
        stop = resolve;
        timer = setTimeout(resolve, ms);
        signal.addEventListener("abort", stop, { once: true });
      });
      await Promise.race([call.done, stopped]);
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    },
    list({ id: actor }) {
      const pending = [...running].flatMap(([id, call]) =>
        call.actor === actor
          ? [{ uri: toResultUri(id), name: call.name, description: "It is still running." }]
          : [],
      );
      const kept = shelf.list(actor).flatMap(([id, { parts, shown }]) => [
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
