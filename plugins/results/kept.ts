import { Buffer } from "node:buffer";
import {
  type Actor,
  GatewayError,
  localUser,
  type Progress,
  type Tool,
  type ToolResult,
} from "../../core/mod.ts";
import { RESOURCE_NOT_FOUND, type Resource } from "../serve/resources.ts";
import { cut, type Part } from "./_cut.ts";
import { type Reading, readPart } from "./_reading.ts";
import { type Running, runningResult, runningText } from "./_running.ts";
import { createShelf, type Shelved } from "./_shelf.ts";
import { fits, jsonBytes } from "./_size.ts";
import { isOurs, newId, placeOf, uriOf } from "./_uri.ts";
import type { ResultsOptions } from "./options.ts";

/** A call that outlasts its caller's patience. */
export interface LongCall {
  readonly actor?: Actor | undefined;
  /** What is called, for whoever reads. */
  readonly name: string;
  progress(): Progress | undefined;
}

/** Who waits, and until when. */
export interface WaitOptions {
  readonly actor: Actor;
  readonly ms: number;
  readonly signal: AbortSignal;
}

/** What whoever serves a gateway needs to keep its answers within bounds. */
export interface Results {
  /** The tool by which an agent reads what it was not shown. */
  readonly tool: Tool;
  /** After this long a call is answered with a link; 0 means never. */
  readonly waitMs: number;
  /** A result as it can be shown: itself where it fits, else cut, with the rest kept for the actor. */
  fit(result: ToolResult, actor: Actor, options?: { readonly keepStructured?: boolean }): ToolResult;
  /** Answers with where the result of a call will be, or with nothing where too many calls are waited for so. */
  later(result: Promise<ToolResult>, call: LongCall): ToolResult | undefined;
  /** What is under a URI; nothing where it is none of ours. Throws where it is, and there is nothing any more. */
  find(uri: string, actor: Actor): Reading | undefined;
  /** Resolves once the call whose result a URI names is over, or after so long. */
  settled(uri: string, options: WaitOptions): Promise<void>;
  /** What an actor can read. */
  list(actor: Actor): readonly Resource[];
  /** Makes readable here what can be read there: links outlive the gateway of a config that is read anew. */
  follow(former: Results): void;
}

interface Kept extends Shelved {
  readonly parts: ReadonlyMap<string, Part>;
  /** What the whole is read as, where it was asked for before it was there. */
  readonly shown: ToolResult | undefined;
}

/** What the parts and the note of a page may take of a page, so that a page and what follows it are within the budget. */
const NOTE_BYTES = 1_000;

/** Keeps what agents were not shown. */
export function keptResults(options: Required<ResultsOptions>, tool: Tool): Results {
  const { maxBytes, waitMs, keepMs } = options;
  const shelf = createShelf<Kept>({ keepMs, maxBytes: options.maxKeptBytes });
  const running = new Map<string, Running>();
  let former: Results | undefined;
  /** By their content, which is what is left of them when something is added to a result. */
  const asAsked = new WeakSet<object>();

  return {
    tool,
    waitMs,
    fit(result, { id: actor }, { keepStructured = false } = {}) {
      if (fits(result, options) || asAsked.has(result.content)) return result;
      const id = newId();
      const made = cut(result, { ...options, id, keepStructured });
      const bytes = bytesOf(made.parts);
      if (!shelf.holds(bytes)) return cut(result, { ...options, id: undefined, keepStructured }).shown;
      shelf.put(id, { actor, parts: made.parts, shown: undefined, bytes });
      return made.shown;
    },
    later(result, { actor = localUser, name, progress }) {
      if (running.size >= options.maxRunning) return undefined;
      const id = newId();
      const done = result.then((settled) => {
        running.delete(id);
        const isWhole = fits(settled, options);
        const made = isWhole ? undefined : cut(settled, { ...options, id, keepStructured: false });
        const parts = made?.parts ?? new Map<string, Part>();
        const shown = made?.shown ?? settled;
        const bytes = bytesOf(parts) + jsonBytes(shown, maxBytes + options.maxMediaBytes);
        if (shelf.holds(bytes)) return shelf.put(id, { actor: actor.id, parts, shown, bytes });
        const lost = cut(settled, { ...options, id: undefined, keepStructured: false }).shown;
        shelf.put(id, { actor: actor.id, parts: new Map(), shown: lost, bytes: 0 });
      });
      const own = { actor: actor.id, name, began: performance.now() - waitMs, progress, done };
      running.set(id, own);
      return runningResult(own, uriOf(id));
    },
    find(uri, actor) {
      const place = placeOf(uri);
      if (!place) {
        if (!isOurs(uri)) return undefined;
        throw missing(uri, keepMs);
      }
      const { id, part: name, offset } = place;
      const own = running.get(id);
      if (own?.actor === actor.id && name === undefined) {
        return { page: runningText(own, uri), mimeType: "text/plain", next: undefined };
      }
      const kept = shelf.get(id, actor.id);
      if (kept && name === undefined && kept.shown) return asked({ result: kept.shown });
      const part = name === undefined ? undefined : kept?.parts.get(name);
      if (part && name !== undefined) {
        return asked(readPart(part, { id, name, offset, maxBytes: maxBytes - NOTE_BYTES }));
      }
      const before = former?.find(uri, actor);
      if (before) return asked(before);
      throw missing(uri, keepMs);
    },
    async settled(uri, wait) {
      const { actor, ms, signal } = wait;
      const own = running.get(placeOf(uri)?.id ?? "");
      if (own?.actor !== actor.id) return former?.settled(uri, wait);
      let timer: ReturnType<typeof setTimeout> | undefined;
      let stop: () => void = () => {};
      const enough = new Promise<void>((resolve) => {
        stop = resolve;
        timer = setTimeout(resolve, ms);
        signal.addEventListener("abort", stop, { once: true });
      });
      await Promise.race([own.done, enough]);
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    },
    list({ id: actor }) {
      const waiting = [...running].flatMap(([id, own]) =>
        own.actor === actor ? [{ uri: uriOf(id), name: own.name, description: "It is still running." }] : [],
      );
      const kept = shelf.of(actor).flatMap(([id, { parts, shown }]) => [
        ...(shown ? [{ uri: uriOf(id), name: "result" }] : []),
        ...[...parts].map(([name, { mimeType }]) => ({
          uri: uriOf(id, name),
          name: `${name} of a result`,
          mimeType,
        })),
      ]);
      return [...waiting, ...kept];
    },
    follow(next) {
      former = next;
    },
  };

  /** What was asked for by its own URI is handed over as it is: it would only be cut and kept again. */
  function asked(reading: Reading): Reading {
    if ("result" in reading) asAsked.add(reading.result.content);
    return reading;
  }
}

function missing(uri: string, keepMs: number): GatewayError {
  const minutes = Math.max(1, Math.round(keepMs / 60_000));
  return new GatewayError(
    RESOURCE_NOT_FOUND,
    `There is no result under this URI, or not any more: what is not shown is kept for ${minutes} min after it was last read, and less where much is kept. If the tool only reads, execute it again.`,
    { data: { uri: uri.slice(0, 200) } },
  );
}

function bytesOf(parts: ReadonlyMap<string, Part>): number {
  let bytes = 0;
  for (const part of parts.values()) {
    bytes += "text" in part ? Buffer.byteLength(part.text) : jsonBytes(part.block, Number.MAX_SAFE_INTEGER);
  }
  return bytes;
}
