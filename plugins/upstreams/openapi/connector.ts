import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import type { buildConnector } from "undici";
import { GatewayError } from "../../../core/mod.ts";
import { mayConnect } from "./address.ts";
import { SSRF_BLOCKED } from "./errors.ts";

/** What connections are made with. */
export interface ConnectorOptions {
  /** Whether they may lead to this machine or a private network. */
  readonly allowPrivate: boolean;
  /** Finds the addresses of a name; the system does by default. */
  readonly lookup?: LookupFunction | undefined;
  /** Certificates to trust besides those of the runtime, for tests. */
  readonly ca?: string | undefined;
}

const CONNECT_MS = 10_000;

/**
 * Opens connections, and only to where they may lead. Addresses are looked at before anything is tried, so that nobody
 * learns what answers in a private network; and again once a connection stands and before a byte is sent over it,
 * encrypted or not: only then is it known where a name has led.
 */
export function guardedConnector(
  build: typeof buildConnector,
  { allowPrivate, lookup = systemLookup as LookupFunction, ca }: ConnectorOptions,
): buildConnector.connector {
  const isAllowed = (address: string | undefined): boolean => mayConnect(address, allowPrivate);
  const plain = build({ timeout: CONNECT_MS, lookup: guardedLookup(lookup, isAllowed) });
  const secure = build({ timeout: CONNECT_MS, ...(ca !== undefined && { ca }) });
  return (target, callback) => {
    const host = target.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !isAllowed(host)) return callback(blocked(host), null);
    const isSecure = target.protocol === "https:";
    const port = target.port || (isSecure ? "443" : "80");
    plain({ ...target, protocol: "http:", port }, (error, socket) => {
      if (error || !socket) return callback(error ?? new Error("There is no connection."), null);
      if (!isAllowed(socket.remoteAddress)) {
        socket.destroy();
        return callback(blocked(host), null);
      }
      if (!isSecure) return callback(null, socket);
      secure({ ...target, httpSocket: socket } as Parameters<typeof secure>[0], callback);
    });
  };
}

function guardedLookup(lookup: LookupFunction, isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, "");
      const all = Array.isArray(found) ? found : [];
      const allowed = all.filter(({ address }) => isAllowed(address));
      const [first] = allowed;
      if (!first) return callback(blocked(hostname), "");
      if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

function blocked(host: string): GatewayError {
  return new GatewayError(
    SSRF_BLOCKED,
    `The request to "${host}" was not sent: it leads to an address that is not on the public internet. An adapter may use private addresses if its option allowPrivate is true.`,
    { data: { host } },
  );
}
