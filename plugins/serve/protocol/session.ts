import { randomUUID } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import type { Client } from "../../../core/services/clients.ts";
import { invalidParams, type MessageLevel, methodNotFound } from "../../lib/jsonrpc.ts";
import type { PendingRequests } from "../client/pending.ts";
import { getPrompts, getResources } from "../providers.ts";
import type { View } from "../view.ts";
import { cacheable, legacyVersions, modernVersions, parseLevel, serverInfo } from "./messages.ts";
import type { Handlers } from "./request.ts";

/** Declarations of a legacy client, which hold for all of its requests. */
export class Session {
  capabilities: Readonly<JsonObject> = {};
  info: Client["info"] = undefined;
  /** The lowest level of messages that the client wants; all if it never set one. */
  level: MessageLevel | undefined = undefined;
  /** Starts or stops watching a URI; set while a stream is open on which the client can be notified. */
  follow: ((uri: string, isWanted: boolean) => Promise<void>) | undefined = undefined;
  #subscriptions: Set<string> | undefined;
  #pending: Map<string, PendingRequests> | undefined;

  /** The URIs that the client subscribed to. */
  get subscriptions(): Set<string> {
    // Made on first use: over HTTP a request without a session has one of its own.
    this.#subscriptions ??= new Set();
    return this.#subscriptions;
  }

  /** Requests to the client that wait for an answer, by their ids; no other client can answer them. */
  get pending(): Map<string, PendingRequests> {
    this.#pending ??= new Map();
    return this.#pending;
  }
}

/** Sessions by the ids that clients send with their requests. */
interface Sessions {
  /** Begins a session that belongs to one actor. */
  begin(actor?: string): { readonly id: string; readonly session: Session };
  get(id: string | undefined): Session | undefined;
  /** Whether a session is known and belongs to another actor. */
  isForeign(id: string | undefined, actor: string): boolean;
}

/** Clients rarely end a session, so the least recently used one is dropped. */
const MAX_SESSIONS = 10_000;
/** Sessions of one actor. Beyond them it loses its own sessions, and never those of others. */
const MAX_SESSIONS_EACH = 1_000;
/** Capabilities are kept for as long as the session, and a hostile client could declare megabytes. */
const MAX_CAPABILITIES = 20_000;
const MAX_NAME = 200;

/** Creates an empty list of sessions. */
export function createSessions(max: number = MAX_SESSIONS, maxEach: number = MAX_SESSIONS_EACH): Sessions {
  const sessions = new Map<string, Session>();
  const owners = new WeakMap<Session, string | undefined>();
  /** The sessions of each actor, the least recently used one first. */
  const idsByOwner = new Map<string | undefined, Set<string>>();

  return {
    begin(actor) {
      const [id, session] = [randomUUID(), new Session()];
      sessions.set(id, session);
      owners.set(session, actor);
      const own = idsByOwner.get(actor) ?? new Set();
      idsByOwner.set(actor, own.add(id));
      if (own.size > maxEach) drop(own.values().next().value);
      if (sessions.size > max) drop(sessions.keys().next().value);
      return { id, session };
    },
    get(id) {
      const session = id === undefined ? undefined : sessions.get(id);
      if (id === undefined || !session) return undefined;
      sessions.delete(id);
      sessions.set(id, session);
      const own = idsByOwner.get(owners.get(session));
      own?.delete(id);
      own?.add(id);
      return session;
    },
    isForeign(id, actor) {
      const session = id === undefined ? undefined : sessions.get(id);
      return session !== undefined && owners.get(session) !== actor;
    },
  };

  function drop(id: string | undefined): void {
    const session = id === undefined ? undefined : sessions.get(id);
    if (id === undefined || !session) return;
    sessions.delete(id);
    const owner = owners.get(session);
    const own = idsByOwner.get(owner);
    own?.delete(id);
    if (own?.size === 0) idsByOwner.delete(owner);
  }
}

/** The capabilities that a client declares; none if they are malformed or too large. */
export function parseCapabilities(value: unknown): Readonly<JsonObject> {
  return isJsonObject(value) && JSON.stringify(value).length <= MAX_CAPABILITIES ? value : {};
}

/** The name and version of a client. */
export function parseClientInfo(value: unknown): Client["info"] {
  if (!isJsonObject(value) || typeof value["name"] !== "string") return undefined;
  const { name, version } = value as { name: string; version?: unknown };
  return {
    name: name.slice(0, MAX_NAME),
    ...(typeof version === "string" && { version: version.slice(0, MAX_NAME) }),
  };
}

/** Handlers of the requests that concern the server as a whole. */
export function sessionHandlers(
  view: Pick<View, "gateway" | "lists">,
  instructions: (client?: Client["info"]) => string | undefined,
): Handlers {
  return {
    initialize({ protocolVersion, capabilities, clientInfo }, { connection: { session } }) {
      session.capabilities = parseCapabilities(capabilities);
      session.info = parseClientInfo(clientInfo);
      const wanted = String(protocolVersion);
      const agreed = legacyVersions.includes(wanted) ? wanted : legacyVersions[0];
      return { protocolVersion: agreed, capabilities: offered(), serverInfo, ...described(session.info) };
    },
    "server/discover": (_params, { isModern, info }) => {
      if (!isModern) throw methodNotFound("server/discover");
      const about = described(info);
      return { supportedVersions: modernVersions, capabilities: offered(), ...about, ...cacheable };
    },
    ping: (_params, { isModern }) => {
      if (isModern) throw methodNotFound("ping");
      return {};
    },
    "logging/setLevel": ({ level }, { isModern, connection: { session } }) => {
      if (isModern || !hasLogging()) throw methodNotFound("logging/setLevel");
      const wanted = parseLevel(level);
      if (!wanted) throw invalidParams("This is not a level of messages.");
      session.level = wanted;
      return {};
    },
  };

  function hasLogging(): boolean {
    return view.gateway?.services.clients?.hasLogging === true;
  }

  function described(client: Client["info"]): { instructions?: string } {
    const text = instructions(client);
    return text ? { instructions: text } : {};
  }

  /** Declares only what exists: a client shows its user the capabilities of a server. */
  function offered(): object {
    const [resources, prompts] = [getResources(view.gateway), getPrompts(view.gateway)];
    const changing = view.lists.changing();
    return {
      tools: { listChanged: true },
      ...(hasLogging() && { logging: {} }),
      ...(resources && {
        resources: {
          ...(resources.canWatch && { subscribe: true }),
          ...(changing.has("resources") && { listChanged: true }),
        },
      }),
      ...(prompts && { prompts: { ...(changing.has("prompts") && { listChanged: true }) } }),
      ...(prompts?.canComplete && { completions: {} }),
    };
  }
}
