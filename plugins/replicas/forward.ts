import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

/** Names who has passed a request on; one that has it is passed on no further. */
export const FORWARDED = "toolpipe-forwarded-by";

/** A machine that is gone does not even refuse. */
const CONNECT_MS = 2_000;

/** What concerns one connection, and not the next; and whose page asks, which was looked at under the name it asked for. */
const HOP: readonly string[] = [
  "connection",
  "expect",
  "keep-alive",
  "origin",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** Where a request is passed on to. */
export interface ForwardOptions {
  /** Such as `http://10.0.0.7:8080`. */
  readonly origin: string;
  readonly from: string;
  /** What it says, where that was read already. */
  readonly body?: string | undefined;
}

/**
 * Has a request answered by another gateway, word for word and as it comes: who asks is found out there. Resolves to
 * `gone` where it could not be reached, and to `lost` where it was reached but has not begun to answer.
 */
export function forward(
  request: IncomingMessage,
  response: ServerResponse,
  { origin, from, body }: ForwardOptions,
): Promise<"answered" | "gone" | "lost"> {
  return new Promise((resolve) => {
    const target = new URL(origin);
    const send = target.protocol === "https:" ? httpsRequest : httpRequest;
    const passed = send(target, {
      path: request.url ?? "/",
      method: request.method ?? "GET",
      headers: {
        ...passable(request.headers),
        host: target.host,
        [FORWARDED]: from,
        ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
      },
      // A connection that was kept may end at any moment, and then nobody knew whether anything was done.
      agent: false,
    });
    let isConnected = false;
    const giveUp = setTimeout(() => passed.destroy(new Error("No connection in time.")), CONNECT_MS);
    passed.once("socket", (socket) => {
      const onConnect = (): void => {
        isConnected = true;
        clearTimeout(giveUp);
      };
      if (socket.connecting) socket.once("connect", onConnect);
      else onConnect();
    });
    passed.once("response", (answer) => {
      clearTimeout(giveUp);
      response.writeHead(answer.statusCode ?? 502, passable(answer.headers));
      response.flushHeaders();
      // Half an answer must not look like a whole one.
      answer.once("error", () => response.destroy());
      answer.once("aborted", () => response.destroy());
      answer.pipe(response);
      resolve("answered");
    });
    passed.once("error", () => {
      clearTimeout(giveUp);
      request.unpipe(passed);
      resolve(isConnected ? "lost" : "gone");
    });
    // A client that goes takes its request with it.
    response.once("close", () => passed.destroy());
    request.once("error", () => passed.destroy());
    if (body === undefined) request.pipe(passed);
    else passed.end(body);
  });
}

function passable(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const own = headers.connection?.toLowerCase().split(/\s*,\s*/) ?? [];
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !HOP.includes(name) && !own.includes(name)),
  );
}
