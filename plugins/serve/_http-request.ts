import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { isIPv4 } from "node:net";
import { jsonScan } from "../_json-scan.ts";
import { malformed, notAllowed, Refusal } from "./_http-refusal.ts";
import { rpcCodes } from "./protocol.ts";

/** What one message from a client may be. */
export interface MessageLimits {
  readonly bytes: number;
  /** Levels of JSON nesting. */
  readonly depth: number;
}

const loopbackNames: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
const methods: readonly (string | undefined)[] = ["GET", "POST"];

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** A host as it stands in a URL. */
export function inUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/**
 * Makes the check that every request has to pass first. A page of a stranger can make a browser send requests
 * here under a name of its own, but not under ours, and not without saying where the page is from.
 */
export function checkOf(place: {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}): (request: IncomingMessage) => void {
  const names = [...loopbackNames, inUrl(place.host)];
  const hosts = new Set(names.map((name) => `${name}:${place.port}`));
  // A client leaves out the port that is the usual one.
  if (place.port === 80) for (const name of names) hosts.add(name);

  return ({ method, url = "", headers: { host = "", origin } }) => {
    if (!hosts.has(host.toLowerCase())) {
      throw new Refusal(403, "Requests to this host are not answered here.");
    }
    if (origin !== undefined && !isLoopbackOrigin(origin)) {
      throw new Refusal(403, "Requests from this origin are not answered.");
    }
    if (url.split("?", 1)[0] !== place.path) throw new Refusal(404, "There is nothing at this address.");
    if (!methods.includes(method)) throw notAllowed(methods.join(", "));
  };
}

function isLoopbackOrigin(origin: string): boolean {
  try {
    const { protocol, hostname } = new URL(origin);
    return /^https?:$/.test(protocol) && loopbackNames.includes(hostname);
  } catch {
    return false;
  }
}

/** Reads the JSON of a request. Nothing is parsed that is too large or nested too deeply. */
export async function readJson(request: IncomingMessage, limits: MessageLimits): Promise<unknown> {
  const { "content-type": type = "", "content-encoding": encoding = "identity" } = request.headers;
  if (type.split(";", 1)[0]?.trim().toLowerCase() !== "application/json") {
    throw new Refusal(415, "A message must be sent as application/json.");
  }
  if (encoding !== "identity") throw new Refusal(415, "A message must be sent uncompressed.");
  const scan = jsonScan(limits.depth);
  const bytes = await readBytes(request, limits.bytes, scan.feed);
  if (scan.tooDeep) throw malformed("This message is nested too deeply.", scan.id());
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal(400, "This message is not JSON.", { code: rpcCodes.parse });
  }
}

function readBytes(
  request: IncomingMessage,
  maxBytes: number,
  look: (chunk: Uint8Array) => void,
): Promise<Uint8Array> {
  const tooLarge = new Refusal(413, `A message may have ${maxBytes} bytes at most.`);
  return new Promise((resolve, reject) => {
    if (Number(request.headers["content-length"]) > maxBytes) return reject(tooLarge);
    let parts: Uint8Array[] = [];
    let size = 0;
    request.on("data", (chunk: Uint8Array) => {
      size += chunk.length;
      if (size > maxBytes) {
        parts = [];
        return reject(tooLarge);
      }
      look(chunk);
      parts.push(chunk);
    });
    request.once("end", () => resolve(Buffer.concat(parts)));
    const breakOff = (): void => reject(new Refusal(400, "The message was not sent to its end."));
    request.once("error", breakOff);
    request.once("close", breakOff);
  });
}
