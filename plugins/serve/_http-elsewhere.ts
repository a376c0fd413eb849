import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { SessionHomes } from "../replicas/session-homes.ts";
import { headerOf } from "./_http-era.ts";
import { Refusal } from "./_http-refusal.ts";
import { ownStateOf, placeOfState } from "./_input.ts";
import { modernVersions } from "./protocol.ts";

/** Whether a session is another replica's, which has answered then. The newer era has no sessions. */
export async function isElsewhere(
  homes: SessionHomes,
  session: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const version = headerOf(request.headers, "mcp-protocol-version");
  if (modernVersions.includes(String(version))) return false;
  const routed = await homes.route(session, request, response);
  if (routed === "gone") throw new Refusal(404, "There is no such session. Begin another one.");
  if (routed === "lost") {
    throw new Refusal(502, "The gateway that has this session ended before it answered.");
  }
  return routed === "answered";
}

/** Whether the call that a client comes back to waits at another replica, which has answered then. */
export async function waitsElsewhere(
  homes: SessionHomes,
  body: unknown,
  isHere: (state: string) => boolean,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const { params } = body as JsonObject;
  const state = isJsonObject(params) ? ownStateOf(params) : undefined;
  if (state === undefined || isHere(state)) return false;
  const routed = await homes.route(placeOfState(state), request, response, JSON.stringify(body));
  if (routed === "lost") {
    throw new Refusal(502, "The gateway where this call waited ended before it answered.");
  }
  return routed === "answered";
}
