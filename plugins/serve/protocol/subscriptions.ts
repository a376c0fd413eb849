import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { invalidParams, methodNotFound } from "../../lib/jsonrpc.ts";
import type { ListName } from "../changes.ts";
import { getResources } from "../providers.ts";
import type { View } from "../view.ts";
import type { ClientConnection } from "./connection.ts";
import { type Id, META } from "./messages.ts";
import type { Handlers } from "./request.ts";
import { toReadError } from "./resources.ts";

const SUBSCRIPTION = `${META}subscriptionId`;
const UPDATED = "notifications/resources/updated";
const MAX_URIS = 1_000;
const fields = {
  tools: "toolsListChanged",
  prompts: "promptsListChanged",
  resources: "resourcesListChanged",
} as const;

/** Handlers of the requests by which clients subscribe to changes. */
export function subscriptionHandlers(view: Pick<View, "gateway">): Handlers {
  return {
    "subscriptions/listen"({ notifications }, { id, isModern, connection, signal }) {
      if (!isModern) throw methodNotFound("subscriptions/listen");
      if (!isJsonObject(notifications)) throw invalidParams("The notifications to listen to are missing.");
      return connection.subscriptions.listen(notifications, id, signal);
    },
    "resources/subscribe": async ({ uri }, { isModern, connection: { session } }) => {
      checkSubscribable("resources/subscribe", isModern);
      if (typeof uri !== "string") throw invalidParams("A subscription needs a URI.");
      const { subscriptions } = session;
      if (subscriptions.has(uri)) return {};
      if (subscriptions.size >= MAX_URIS) throw tooMany();
      try {
        await session.follow?.(uri, true);
      } catch (thrown) {
        throw toReadError(thrown, uri, isModern);
      }
      subscriptions.add(uri);
      return {};
    },
    "resources/unsubscribe": async ({ uri }, { isModern, connection: { session } }) => {
      checkSubscribable("resources/unsubscribe", isModern);
      session.subscriptions.delete(String(uri));
      await session.follow?.(String(uri), false);
      return {};
    },
  };

  function checkSubscribable(method: string, isModern: boolean): void {
    if (isModern || !getResources(view.gateway)?.canWatch) throw methodNotFound(method);
  }
}

/** Notifies the client of one connection of changes: a legacy one of all, a modern one of those it listens to. */
export class Subscriptions {
  readonly #connection: ClientConnection;
  /** Modern requests that listen. */
  readonly #listeners = new Map<Id, { readonly lists: ReadonlySet<ListName>; readonly end: () => void }>();
  /** Functions that end the watching of a URI for a legacy client. */
  readonly #watched = new Map<string, Promise<() => void>>();
  readonly #follow = (uri: string, isWanted: boolean): Promise<void> => this.#watch(uri, isWanted);
  readonly #stopLists: () => void;
  #isLegacyReady = false;

  constructor(connection: ClientConnection) {
    const { lists } = connection.server.view;
    this.#connection = connection;
    this.#stopLists = lists.listen((list) => {
      const method = `notifications/${list}/list_changed`;
      if (this.#isLegacyReady && lists.changing().has(list)) connection.send({ jsonrpc: "2.0", method });
      for (const [id, listener] of this.#listeners) {
        if (listener.lists.has(list)) connection.send(stamp(method, id, {}));
      }
    });
  }

  /** Starts to notify a legacy client. */
  begin(): void {
    const { session } = this.#connection;
    this.#isLegacyReady = true;
    session.follow = this.#follow;
    for (const uri of session.subscriptions) {
      this.#follow(uri, true).catch(() => session.subscriptions.delete(uri));
    }
  }

  /** Answers a modern request that listens when the client ends it. */
  listen(wanted: JsonObject, id: Id, signal: AbortSignal): Promise<object> | object {
    const { actor, send, closesEmpty, server } = this.#connection;
    const { lists, watches, gateway } = server.view;
    const names = [...lists.changing()].filter((list) => wanted[fields[list]] === true);
    const canWatch = getResources(gateway)?.canWatch;
    const uris = canWatch ? parseUris(wanted["resourceSubscriptions"]) : [];
    const honored = {
      ...Object.fromEntries(names.map((list) => [fields[list], true])),
      ...(uris.length > 0 && { resourceSubscriptions: uris }),
    };
    send(stamp("notifications/subscriptions/acknowledged", id, { notifications: honored }));
    const ended = { _meta: { [SUBSCRIPTION]: id } };
    if (closesEmpty && Object.keys(honored).length === 0) return ended;
    return new Promise((resolve) => {
      const onUpdate = (uri: string): void =>
        void (this.#listeners.has(id) && send(stamp(UPDATED, id, { uri })));
      const stops = uris.map((uri) => watches.watch(uri, { actor, onUpdate }));
      const end = (): void => {
        this.#listeners.delete(id);
        signal.removeEventListener("abort", end);
        for (const stop of stops) stopWatching(stop);
        resolve(ended);
      };
      // For the client, a resource that cannot be watched never changes.
      for (const stop of stops) stop.catch(() => {});
      this.#listeners.set(id, { lists: new Set(names), end });
      signal.addEventListener("abort", end);
    });
  }

  close(): void {
    const { session } = this.#connection;
    this.#stopLists();
    if (session.follow === this.#follow) session.follow = undefined;
    for (const uri of [...this.#watched.keys()]) void this.#follow(uri, false);
    for (const { end } of this.#listeners.values()) end();
  }

  async #watch(uri: string, isWanted: boolean): Promise<void> {
    const present = this.#watched.get(uri);
    if (!isWanted) {
      this.#watched.delete(uri);
      if (present) stopWatching(present);
      return;
    }
    const { actor, send, server } = this.#connection;
    const onUpdate = (changed: string): void =>
      void send({ jsonrpc: "2.0", method: UPDATED, params: { uri: changed } });
    const begun = present ?? server.view.watches.watch(uri, { actor, onUpdate });
    this.#watched.set(uri, begun);
    try {
      await begun;
    } catch (thrown) {
      if (this.#watched.get(uri) === begun) this.#watched.delete(uri);
      throw thrown;
    }
  }
}

/** Ends a watch once it has begun; one that could not begin needs no end. */
function stopWatching(watch: Promise<() => void>): void {
  watch.then(
    (stop) => stop(),
    () => {},
  );
}

function parseUris(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const uris = Array.isArray(value) ? [...new Set(value)] : [undefined];
  if (!uris.every((uri) => typeof uri === "string")) {
    throw invalidParams("The resources to listen to are a list of URIs.");
  }
  if (uris.length > MAX_URIS) throw tooMany();
  return uris;
}

function tooMany(): Error {
  return invalidParams(`There may be ${MAX_URIS} subscriptions at most.`);
}

function stamp(method: string, id: Id, params: JsonObject): object {
  return { jsonrpc: "2.0", method, params: { ...params, _meta: { [SUBSCRIPTION]: id } } };
}
