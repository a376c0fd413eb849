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
  /** What all messages that are being read at once may be together; no limit where there is none. */
  readonly reading?: Reading | undefined;
}

/** The messages that are being read. */
export interface Reading {
  readonly maxBytes: number;
  bytes: number;
}

const loopbackNames: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
const methods: readonly (string | undefined)[] = ["GET", "POST"];

/** Where something is served, and to whom. */
export interface Place {
  readonly host: string;
  readonly port: number;
  /** Other names that it is known by, `name` at any port or `name:port`. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Pages of others that may ask, such as `https://app.example`. */
  readonly allowedOrigins?: readonly string[] | undefined;
}

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** A host as it stands in a URL. */
export function inUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** The path of a request. */
export function pathOf({ url = "" }: Pick<IncomingMessage, "url">): string {
  return url.split("?", 1)[0] ?? "";
}

/** Makes the check of requests to one path: {@link placeCheck}, and that there is something there. */
export function checkOf(place: Place & { readonly path: string }): (request: IncomingMessage) => void {
  return pathCheck(placeCheck(place), place.path);
}

/** A check, and after it that a request is for a path. */
export function pathCheck(
  check: (request: IncomingMessage) => void,
  path: string,
): (request: IncomingMessage) => void {
  return (request) => {
    check(request);
    if (pathOf(request) !== path) throw new Refusal(404, "There is nothing at this address.");
    if (!methods.includes(request.method)) throw notAllowed(methods.join(", "));
  };
}

/**
 * Makes the check that every request has to pass first. A page of a stranger can make a browser send requests
 * here under a name of its own, but not under ours, and not without saying where the page is from.
 */
export function placeCheck(place: Place): (request: IncomingMessage) => void {
  const { port, allowedHosts = [], allowedOrigins = [] } = place;
  const names = [...loopbackNames, inUrl(place.host)];
  const hosts = new Set(names.map((name) => `${name}:${port}`));
  // A client leaves out the port that is the usual one.
  if (port === 80) for (const name of names) hosts.add(name);
  const others = new Set(allowedHosts.map((name) => name.toLowerCase()));
  const origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()));
  const isExposed = !isLoopback(place.host);

  return ({ headers: { host: given = "", origin }, socket }) => {
    const host = given.toLowerCase();
    const isOurs =
      hosts.has(host) ||
      others.has(host) ||
      others.has(host.replace(/:\d+$/, "")) ||
      // Whoever is at all addresses is asked by one of them. A name can be made to lead here; an address cannot.
      (isExposed && host === addressOf(socket));
    if (!isOurs) throw new Refusal(403, "Requests to this host are not answered here.");
    if (origin === undefined || isLoopbackOrigin(origin) || origins.has(origin.toLowerCase())) return;
    if (isExposed && isOrigin(origin, host)) return;
    throw new Refusal(403, "Requests from this origin are not answered.");
  };
}

function addressOf({ localAddress = "", localPort }: IncomingMessage["socket"]): string {
  return `${inUrl(localAddress.replace(/^::ffff:(?=\d+\.)/, ""))}:${localPort}`;
}

/** Whether it is our own page that asks. What is between a browser and us may have taken https off. */
function isOrigin(origin: string, host: string): boolean {
  return /^https?:\/\//i.test(origin) && origin.toLowerCase().replace(/^https?:\/\//, "") === host;
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
  const bytes = await readBytes(request, limits, scan.feed);
  if (scan.tooDeep) throw malformed("This message is nested too deeply.", scan.id());
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal(400, "This message is not JSON.", { code: rpcCodes.parse });
  }
}

function readBytes(
  request: IncomingMessage,
  { bytes: maxBytes, reading = { maxBytes: Number.POSITIVE_INFINITY, bytes: 0 } }: MessageLimits,
  look: (chunk: Uint8Array) => void,
): Promise<Uint8Array> {
  let parts: Uint8Array[] = [];
  let size = 0;
  const read = new Promise<Uint8Array>((resolve, reject) => {
    const tooLarge = new Refusal(413, `A message may have ${maxBytes} bytes at most.`);
    const broken = new Refusal(400, "The message was not sent to its end.");
    if (Number(request.headers["content-length"]) > maxBytes) return reject(tooLarge);
    // Whoever has gone while something else was waited for says nothing more.
    if (request.destroyed) return reject(broken);
    let isRefused = false;
    request.on("data", (chunk: Uint8Array) => {
      if (isRefused) return;
      const isFull = reading.bytes + chunk.length > reading.maxBytes;
      if (size + chunk.length > maxBytes || isFull) {
        isRefused = true;
        parts = [];
        return reject(isFull ? busy() : tooLarge);
      }
      size += chunk.length;
      reading.bytes += chunk.length;
      look(chunk);
      parts.push(chunk);
    });
    request.once("end", () => resolve(Buffer.concat(parts)));
    request.once("error", () => reject(broken));
    request.once("close", () => reject(broken));
  });
  return read.finally(() => {
    reading.bytes -= size;
    size = 0;
  });
}

function busy(): Refusal {
  return new Refusal(503, "The gateway has too much to read at once. Try again in 1 s.", {
    reason: "OVERLOADED",
    headers: { "retry-after": "1" },
  });
}
