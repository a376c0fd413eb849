import {
  cancelledBy,
  type GatewayError,
  isJsonObject,
  type JsonObject,
  type Progress,
} from "../../core/mod.ts";
import { full, left } from "./_asking.ts";
import { canBeAsked, checkAskable } from "./_capability.ts";
import type { Handling } from "./_handler.ts";
import { isWanted, levelOf } from "./_logging.ts";
import { createPending, type Pending } from "./_pending.ts";
import type { AskLimits, ServedClient } from "./_served-client.ts";
import { infoOf } from "./_session.ts";
import type { Underway } from "./_underway.ts";

/** One of the requests by which a client of the newer era takes part. */
export interface Turn {
  readonly request: Underway;
  /** Its `_meta`. */
  readonly meta: Readonly<JsonObject>;
  readonly send: (message: object) => unknown;
}

/** What a turn comes to: the result, or what the client is asked. */
export type Outcome = { readonly result: object } | { readonly questions: JsonObject };

/** Something that a client of the newer era asked for, and which may ask it something in between. */
export interface Dialogue {
  /** What the client says of itself in its latest request. */
  readonly capabilities: Readonly<JsonObject>;
  /** Goes on with what a client brought. What it did not answer it is asked again. */
  resume(turn: Turn, responses: unknown): void;
  /** Resolves when the turn is over. */
  next(): Promise<Outcome>;
  /** Nobody is there from now on, until the client comes back. */
  suspend(): void;
  /** Fails what waits for answers: they cannot be asked for. */
  refuse(error: GatewayError): void;
  /** Cancels it. */
  end(error: GatewayError): void;
}

interface Question {
  readonly method: string;
  readonly params: Readonly<JsonObject>;
  readonly pending: Pending;
}

/** What is asked within so long is asked together: each turn costs the client a request. */
const SAME_TURN_MS = 10;
const META = "io.modelcontextprotocol/";

/** Begins something on behalf of a client. */
export function createDialogue(
  begin: (handling: Pick<Handling, "cancellation" | "client" | "report" | "onEffect">) => Promise<object>,
  first: Turn,
  { questions }: AskLimits,
): Dialogue {
  // That of the request that began it: nobody can cancel that request any more once it is answered.
  const cancellation = first.request;
  const open = new Map<string, Question>();
  let turn: Turn | undefined;
  let meta = first.meta;
  let keys = 0;
  let answeredAt = 0;
  let hasEffects = false;
  /** Nobody will come back. */
  let isLeft = false;
  let wake: (() => void) | undefined;
  let isWaking = false;

  const client: ServedClient = {
    era: "modern",
    get info() {
      return infoOf(meta[`${META}clientInfo`]);
    },
    get capabilities() {
      return declared();
    },
    get unanswered() {
      return open.size;
    },
    get answeredAt() {
      return answeredAt;
    },
    can: (capability) => !isLeft && canBeAsked(capability, declared()),
    async ask(method, params, { signal, callSignal } = {}) {
      checkAskable(method, params, declared());
      for (const ended of [signal, callSignal, cancellation.signal])
        if (ended?.aborted) throw cancelledBy(ended);
      if (isLeft) throw left();
      if (open.size >= questions) throw full();
      const key = `question-${++keys}`;
      const pending = createPending({
        signals: [signal, callSignal, cancellation.signal],
        onEnd() {
          open.delete(key);
          answeredAt = performance.now();
        },
      });
      open.set(key, { method, params: modernParams(method, params), pending });
      wakeSoon();
      return pending.answer;
    },
    tell(method, params) {
      // Who does not name a level wants to hear nothing.
      if (isWanted(method, params, levelOf(meta[`${META}logLevel`]))) {
        turn?.send({ jsonrpc: "2.0", method, params });
      }
    },
  };
  enter(first);
  const work = begin({
    cancellation,
    client,
    report: first.meta["progressToken"] === undefined ? undefined : report,
    onEffect() {
      hasEffects = true;
      if (turn) turn.request.hasEffects = true;
    },
  });
  // It may end while nobody is there; whoever comes back is told how.
  work.then(onGone, onGone);

  return {
    get capabilities() {
      return declared();
    },
    resume(next, responses) {
      enter(next);
      const given = isJsonObject(responses) ? responses : {};
      for (const [key, { pending }] of [...open]) {
        const answer = Object.hasOwn(given, key) ? given[key] : undefined;
        // What is wrapped in something is no answer, and asked for again.
        if (isJsonObject(answer) && !("method" in answer) && !("result" in answer)) pending.resolve(answer);
      }
      if (open.size > 0) wakeSoon();
    },
    next: () =>
      new Promise((resolve, reject) => {
        wake = () => resolve({ questions: Object.fromEntries([...open].map(inWords)) });
        work.then((result) => resolve({ result }), reject);
      }),
    suspend() {
      if (!turn) return;
      turn.request.onLeave = undefined;
      turn.request.offCancel(onCancel);
      turn = undefined;
    },
    refuse(error) {
      for (const { pending } of [...open.values()]) pending.reject(error);
    },
    end: (error) => cancellation.cancel(error),
  };

  function enter(next: Turn): void {
    turn = next;
    meta = next.meta;
    next.request.hasEffects ||= hasEffects;
    next.request.onLeave = onGone;
    if (next !== first) next.request.onCancel(onCancel);
  }

  function onCancel(): void {
    cancellation.cancel(turn?.request.cancelled);
  }

  /** Who has gone in the middle of a turn has nothing to come back with, whether it goes on or not. */
  function onGone(): void {
    isLeft = true;
    for (const { pending } of [...open.values()]) pending.reject(left());
  }

  function wakeSoon(): void {
    if (isWaking) return;
    isWaking = true;
    setTimeout(() => {
      isWaking = false;
      if (open.size > 0) wake?.();
    }, SAME_TURN_MS);
  }

  function report(progress: Progress): void {
    const { progressToken } = meta;
    if (progressToken === undefined) return;
    turn?.send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, ...progress } });
  }

  function declared(): Readonly<JsonObject> {
    const capabilities = meta[`${META}clientCapabilities`];
    return isJsonObject(capabilities) ? capabilities : {};
  }
}

function inWords([key, { method, params }]: [string, Question]): [string, JsonObject] {
  return [key, { method, params }];
}

/** The newer era has no ids of URLs that are to be opened. */
function modernParams(method: string, params: Readonly<JsonObject>): Readonly<JsonObject> {
  if (method !== "elicitation/create" || !("elicitationId" in params)) return params;
  const { elicitationId, ...rest } = params;
  return rest;
}
