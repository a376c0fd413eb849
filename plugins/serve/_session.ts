import { randomUUID } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { LogLevel } from "./_logging.ts";
import type { Client } from "./client.ts";

/** What a client of the older era has said once, for all of its requests. */
export interface Session {
  capabilities: Readonly<JsonObject>;
  info: Client["info"];
  /** It wants to hear nothing below; everything where it never said so. */
  level: LogLevel | undefined;
  /** The URIs it has subscribed to. */
  readonly subscriptions: Set<string>;
  /** There while something is open by which it can be told: begins or ends to watch a URI for it. */
  follow: ((uri: string, isWanted: boolean) => Promise<void>) | undefined;
}

/** Sessions by the names they were given. */
export interface Sessions {
  /** Begins one that is of one actor alone. */
  begin(actor?: string): { readonly id: string; readonly session: Session };
  get(id: string | undefined): Session | undefined;
  /** Whether a session is known, and not of this actor. */
  isForeign(id: string | undefined, actor: string): boolean;
}

/** Nobody ends a session, so the one that was not used for longest is forgotten. */
const MAX_SESSIONS = 10_000;
/** What a client says of itself is kept for long, and a stranger could say much. */
const MAX_CAPABILITIES = 20_000;
const MAX_NAME = 200;

/** A session of which nothing is known yet. */
export function createSession(): Session {
  return { capabilities: {}, info: undefined, level: undefined, subscriptions: new Set(), follow: undefined };
}

/** Remembers sessions. */
export function createSessions(max: number = MAX_SESSIONS): Sessions {
  const sessions = new Map<string, Session>();
  const owners = new WeakMap<Session, string>();
  return {
    begin(actor) {
      const [id, session] = [randomUUID(), createSession()];
      sessions.set(id, session);
      if (actor !== undefined) owners.set(session, actor);
      const [oldest] = sessions.keys();
      if (sessions.size > max && oldest !== undefined) sessions.delete(oldest);
      return { id, session };
    },
    get(id) {
      const session = id === undefined ? undefined : sessions.get(id);
      if (id === undefined || !session) return undefined;
      sessions.delete(id);
      sessions.set(id, session);
      return session;
    },
    isForeign(id, actor) {
      const session = id === undefined ? undefined : sessions.get(id);
      return session !== undefined && owners.get(session) !== actor;
    },
  };
}

/** What a client says it can do, where that is anything to be kept. */
export function capabilitiesOf(value: unknown): Readonly<JsonObject> {
  return isJsonObject(value) && JSON.stringify(value).length <= MAX_CAPABILITIES ? value : {};
}

/** What a client calls itself. */
export function infoOf(value: unknown): Client["info"] {
  if (!isJsonObject(value) || typeof value["name"] !== "string") return undefined;
  const { name, version } = value as { name: string; version?: unknown };
  return {
    name: name.slice(0, MAX_NAME),
    ...(typeof version === "string" && { version: version.slice(0, MAX_NAME) }),
  };
}
