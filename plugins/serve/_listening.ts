import { type Actor, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { type Handlers, type Id, invalid, notFound } from "./_handler.ts";
import type { ListName } from "./_list-changes.ts";
import { readingError } from "./_resource-handlers.ts";
import type { Session } from "./_session.ts";
import type { Front } from "./front.ts";

/** What is told to one client without its asking. */
export interface Listening {
  readonly handlers: Handlers;
  /** A client of the older era wants to hear what changes. */
  begin(): void;
  close(): void;
}

/** What {@link createListening} is given. */
export interface ListeningParts {
  readonly front: Front;
  readonly session: Session;
  readonly actor: Actor | undefined;
  readonly send: (message: object) => unknown;
  /** Whether to listen to nothing is over at once: nothing would ever be sent on a stream of its own. */
  readonly closesEmpty: boolean;
}

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const UPDATED = "notifications/resources/updated";
const MAX_URIS = 1_000;
const fields = {
  tools: "toolsListChanged",
  prompts: "promptsListChanged",
  resources: "resourcesListChanged",
} as const;

/** Makes what tells a client of changes: one of the older era of all, one of the newer of those it listens to. */
export function createListening(parts: ListeningParts): Listening {
  const { front, session, actor, send, closesEmpty } = parts;
  /** What requests of the newer era listen to. */
  const listeners = new Map<Id, { readonly lists: ReadonlySet<ListName>; readonly end: () => void }>();
  /** What ends the watching of a URI, by the URI, for a client of the older era. */
  const watched = new Map<string, Promise<() => void>>();
  let isLegacyReady = false;
  const stopLists = front.onListChanged((list) => {
    const method = `notifications/${list}/list_changed`;
    if (isLegacyReady && front.changes().has(list)) send({ jsonrpc: "2.0", method });
    for (const [id, { lists }] of listeners) if (lists.has(list)) send(stamped(method, id, {}));
  });

  return {
    handlers: {
      "subscriptions/listen"({ notifications }, { id, modern, cancellation }) {
        if (!modern) throw notFound("subscriptions/listen");
        if (!isJsonObject(notifications)) throw invalid("What to listen to is missing.");
        return listen(notifications, id, cancellation.signal);
      },
      "resources/subscribe": async ({ uri }, { modern }) => {
        checkSubscribable("resources/subscribe", modern);
        if (typeof uri !== "string") throw invalid("A subscription needs a URI.");
        const { subscriptions } = session;
        if (subscriptions.has(uri)) return {};
        if (subscriptions.size >= MAX_URIS) throw invalid(`There may be ${MAX_URIS} subscriptions at most.`);
        try {
          await session.follow?.(uri, true);
        } catch (thrown) {
          throw readingError(thrown, uri, modern);
        }
        subscriptions.add(uri);
        return {};
      },
      "resources/unsubscribe": async ({ uri }, { modern }) => {
        checkSubscribable("resources/unsubscribe", modern);
        session.subscriptions.delete(String(uri));
        await session.follow?.(String(uri), false);
        return {};
      },
    },
    begin() {
      isLegacyReady = true;
      session.follow = follow;
      for (const uri of session.subscriptions)
        follow(uri, true).catch(() => session.subscriptions.delete(uri));
    },
    close() {
      stopLists();
      if (session.follow === follow) session.follow = undefined;
      for (const uri of [...watched.keys()]) void follow(uri, false);
      for (const { end } of listeners.values()) end();
    },
  };

  async function follow(uri: string, isWanted: boolean): Promise<void> {
    const present = watched.get(uri);
    if (!isWanted) {
      watched.delete(uri);
      present?.then(
        (stop) => stop(),
        () => {},
      );
      return;
    }
    const onUpdate = (changed: string): void =>
      void send({ jsonrpc: "2.0", method: UPDATED, params: { uri: changed } });
    const begun = present ?? front.watch(uri, { actor, onUpdate });
    watched.set(uri, begun);
    try {
      await begun;
    } catch (thrown) {
      if (watched.get(uri) === begun) watched.delete(uri);
      throw thrown;
    }
  }

  /** Stays unanswered for as long as the client listens. */
  function listen(wanted: JsonObject, id: Id, signal: AbortSignal): Promise<object> | object {
    const changes = front.changes();
    const lists = [...changes].filter((list) => wanted[fields[list]] === true);
    const uris = front.resources()?.canWatch ? urisIn(wanted["resourceSubscriptions"]) : [];
    const honored = {
      ...Object.fromEntries(lists.map((list) => [fields[list], true])),
      ...(uris.length > 0 && { resourceSubscriptions: uris }),
    };
    send(stamped("notifications/subscriptions/acknowledged", id, { notifications: honored }));
    const ended = { _meta: { [SUBSCRIPTION]: id } };
    if (closesEmpty && Object.keys(honored).length === 0) return ended;
    return new Promise((resolve) => {
      const onUpdate = (uri: string): void => void (listeners.has(id) && send(stamped(UPDATED, id, { uri })));
      const stops = uris.map((uri) => front.watch(uri, { actor, onUpdate }));
      const end = (): void => {
        listeners.delete(id);
        signal.removeEventListener("abort", end);
        for (const stop of stops) {
          stop.then(
            (stopNow) => stopNow(),
            () => {},
          );
        }
        resolve(ended);
      };
      // What cannot be watched never changes, as far as the client is concerned.
      for (const stop of stops) stop.catch(() => {});
      listeners.set(id, { lists: new Set(lists), end });
      signal.addEventListener("abort", end);
    });
  }

  function checkSubscribable(method: string, modern: boolean): void {
    if (modern || !front.resources()?.canWatch) throw notFound(method);
  }
}

function urisIn(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const uris = Array.isArray(value) ? [...new Set(value)] : [undefined];
  if (!uris.every((uri) => typeof uri === "string"))
    throw invalid("The resources to listen to are a list of URIs.");
  if (uris.length > MAX_URIS) throw invalid(`There may be ${MAX_URIS} subscriptions at most.`);
  return uris;
}

function stamped(method: string, id: Id, params: JsonObject): object {
  return { jsonrpc: "2.0", method, params: { ...params, _meta: { [SUBSCRIPTION]: id } } };
}
