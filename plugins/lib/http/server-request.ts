import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { isIPv4 } from "node:net";
import { createJsonScan } from "../json.ts";
import { HttpRefusal, malformed, notAllowed, rpcCodes } from "../jsonrpc.ts";

/** Limits of one message from a client. */
export interface MessageLimits {
  readonly bytes: number;
  /** Levels of JSON nesting. */
  readonly depth: number;
  /** Limit of all messages together that are being read; none by default. */
  readonly reading?: { readonly maxBytes: number; bytes: number } | undefined;
}

const loopbackNames: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
const methods: readonly (string | undefined)[] = ["GET", "POST"];

/** Address of a server, with the hosts and origins that it accepts. */
export interface ServedAddress {
  readonly host: string;
  readonly port: number;
  /** Other host names, `name` at any port or `name:port`. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Origins whose pages may send requests, such as `https://app.example`. */
  readonly allowedOrigins?: readonly string[] | undefined;
}

/** Whether only this machine can reach a host; an IPv6 address may stand in brackets. */
export function isLoopback(host: string): boolean {
  const plain = host.replace(/^\[|\]$/g, "");
  return plain === "localhost" || plain === "::1" || (isIPv4(plain) && plain.startsWith("127."));
}

/** Returns a host in the form of URLs. */
export function toUrlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Returns the path of a request. */
export function getPath({ url = "" }: Pick<IncomingMessage, "url">): string {
  return url.split("?", 1)[0] ?? "";
}

/** Creates the check of requests to one path: {@link createOriginCheck}, then path and method. */
export function createRequestCheck(
  place: ServedAddress & { readonly path: string },
): (request: IncomingMessage) => void {
  return withPathCheck(createOriginCheck(place), place.path);
}

/** Adds to a check that of path and method. */
export function withPathCheck(
  check: (request: IncomingMessage) => void,
  path: string,
): (request: IncomingMessage) => void {
  return (request) => {
    check(request);
    if (getPath(request) !== path) throw new HttpRefusal(404, "There is nothing at this address.");
    if (!methods.includes(request.method)) throw notAllowed(methods.join(", "));
  };
}

/**
 * Creates the check of host and origin that every request has to pass first. The page of another site can make a browser
 * send requests here under a host name of that site (DNS rebinding), but not under ours, and not without its origin.
 */
export function createOriginCheck(place: ServedAddress): (request: IncomingMessage) => void {
  const { port, allowedHosts = [], allowedOrigins = [] } = place;
  const names = [...loopbackNames, toUrlHost(place.host)];
  const hosts = new Set(names.map((name) => `${name}:${port}`));
  // A client leaves out the default port.
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
      // A server at all addresses is asked by one of them. A name can be made to resolve to this machine; an address cannot.
      (isExposed && host === getAddress(socket));
    if (!isOurs) throw new HttpRefusal(403, "Requests to this host are not answered here.");
    if (origin === undefined || isLoopbackOrigin(origin) || origins.has(origin.toLowerCase())) return;
    if (isExposed && isOrigin(origin, host)) return;
    throw new HttpRefusal(403, "Requests from this origin are not answered.");
  };
}

function getAddress({ localAddress = "", localPort }: IncomingMessage["socket"]): string {
  return `${toUrlHost(localAddress.replace(/^::ffff:(?=\d+\.)/, ""))}:${localPort}`;
}

/** Whether a request comes from our own page. A proxy between browser and server may have ended TLS. */
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

/** Reads the JSON of a request. Rejects what is too large or nested too deeply before it is parsed. */
export async function readJson(request: IncomingMessage, limits: MessageLimits): Promise<unknown> {
  const { "content-type": type = "", "content-encoding": encoding = "identity" } = request.headers;
  if (type.split(";", 1)[0]?.trim().toLowerCase() !== "application/json") {
    throw new HttpRefusal(415, "A message must be sent as application/json.");
  }
  if (encoding !== "identity") throw new HttpRefusal(415, "A message must be sent uncompressed.");
  const scan = createJsonScan(limits.depth);
  const bytes = await readBytes(request, limits, scan.feed);
  if (scan.tooDeep) throw malformed("This message is nested too deeply.", scan.id());
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new HttpRefusal(400, "This message is not JSON.", { code: rpcCodes.parse });
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
    const tooLarge = new HttpRefusal(413, `A message may have ${maxBytes} bytes at most.`);
    const broken = new HttpRefusal(400, "The message is incomplete.");
    if (Number(request.headers["content-length"]) > maxBytes) return reject(tooLarge);
    // A client that disconnected in the meantime sends nothing more.
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

function busy(): HttpRefusal {
  return new HttpRefusal(503, "The gateway is reading too many messages at once. Try again in 1 s.", {
    reason: "OVERLOADED",
    headers: { "retry-after": "1" },
  });
}
