import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { buildConnector } from "undici";
import { GatewayError } from "../../../core/mod.ts";
import { SSRF_BLOCKED } from "./errors.ts";

/**
 * Addresses that requests may reach: those of the public internet, or private networks and this machine as well.
 * Link-local addresses, where clouds keep the credentials of a machine, are never reached: a redirect could lead there.
 */
type Addresses = "public" | "private";

/** This machine and private networks. Local proxies answer names with addresses of 198.18.0.0/15, a test network. */
const PRIVATE_4 = "10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16 198.18.0.0/15";
const PRIVATE_6 = "::1/128 fc00::/7";

/** Link-local, multicast, reserved and documentation addresses. */
const FORBIDDEN_4 =
  "0.0.0.0/8 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4";
/** Within the public range: other ways to write IPv4 addresses, and documentation addresses. */
const FORBIDDEN_6 = "2001::/23 2001:db8::/32 2002::/16 3fff::/20";
/** The only range with public addresses; all others are unassigned, or translated to other addresses. */
const PUBLIC_6 = "2000::/3";

const forbidden = { ipv4: toBlockList(FORBIDDEN_4, "ipv4"), ipv6: toBlockList(FORBIDDEN_6, "ipv6") };
const privateNetworks = { ipv4: toBlockList(PRIVATE_4, "ipv4"), ipv6: toBlockList(PRIVATE_6, "ipv6") };
const public6 = toBlockList(PUBLIC_6, "ipv6");

/** Whether a request may go to an IP address. */
export function isAllowed(address: string | undefined, addresses: Addresses): boolean {
  const plain = (address ?? "").replace(/%.*$/, "");
  // A dual-stack socket reports IPv4 peers in this form.
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  const ip = mapped ?? plain;
  if (isIP(ip) === 0) return false;
  const family = isIP(ip) === 4 ? "ipv4" : "ipv6";
  if (privateNetworks[family].check(ip, family)) return addresses === "private";
  if (forbidden[family].check(ip, family)) return false;
  return family === "ipv4" || public6.check(ip, family);
}

/** Options for {@link guardedConnector} and {@link createHostCheck}. */
export interface AddressOptions {
  readonly addresses: Addresses;
  /** Resolves names; the resolver of the system by default. */
  readonly lookup?: LookupFunction | undefined;
}

const CONNECT_MS = 10_000;

/**
 * Opens connections to allowed addresses only. Addresses are checked before anything is tried, so that timing and
 * errors reveal nothing about a private network; and again once a connection stands and before a byte is sent over it,
 * encrypted or not: only then is it certain where a name has led (DNS rebinding).
 */
export function guardedConnector(
  build: typeof buildConnector,
  tls: buildConnector.BuildOptions,
  { addresses, lookup = systemLookup as LookupFunction }: AddressOptions,
): buildConnector.connector {
  const plain = build({ timeout: CONNECT_MS, lookup: guardedLookup(lookup, addresses) });
  const secure = build({ timeout: CONNECT_MS, ...tls });
  return (target, callback) => {
    const host = toHost(target);
    if (isIP(host) !== 0 && !isAllowed(host, addresses)) return callback(blocked(host), null);
    const isSecure = target.protocol === "https:";
    const port = target.port || (isSecure ? "443" : "80");
    plain({ ...target, protocol: "http:", port }, (error, socket) => {
      if (error || !socket) return callback(error ?? new Error("There is no connection."), null);
      if (!isAllowed(socket.remoteAddress, addresses)) {
        socket.destroy();
        return callback(blocked(host), null);
      }
      if (!isSecure) return callback(null, socket);
      secure({ ...target, httpSocket: socket } as Parameters<typeof secure>[0], callback);
    });
  };
}

function guardedLookup(lookup: LookupFunction, addresses: Addresses): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, "");
      const all = Array.isArray(found) ? found : [];
      const allowed = all.filter(({ address }) => isAllowed(address, addresses));
      const [first] = allowed;
      if (!first) return callback(blocked(hostname), "");
      if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

/** Behind a proxy names often cannot be resolved; a resolver that does not answer must not slow every request down. */
const RESOLVE_MS = 1_000;
const UNRESOLVED_MS = 60_000;
const MAX_UNRESOLVED = 100;

/**
 * Checks a host before a proxy is asked for it, which resolves the name by itself: an IP address always, a name if it
 * can be resolved here. Rejects with `SSRF_BLOCKED`.
 */
export function createHostCheck(options: AddressOptions): (url: URL) => Promise<void> {
  const { addresses, lookup = systemLookup as LookupFunction } = options;
  const unresolved = new Map<string, number>();
  return async (url) => {
    const host = toHost(url);
    if ((unresolved.get(host) ?? 0) > Date.now()) return;
    const found = isIP(host) === 0 ? await resolve(host) : [host];
    if (!found) {
      if (unresolved.size >= MAX_UNRESOLVED) unresolved.clear();
      unresolved.set(host, Date.now() + UNRESOLVED_MS);
    } else if (!found.every((address) => isAllowed(address, addresses))) throw blocked(host);
  };

  function resolve(host: string): Promise<readonly string[] | undefined> {
    return new Promise((done) => {
      const timer = setTimeout(() => done(undefined), RESOLVE_MS);
      lookup(host, { all: true }, (error, found) => {
        clearTimeout(timer);
        done(error || !Array.isArray(found) ? undefined : found.map(({ address }) => address));
      });
    });
  }
}

function toHost({ hostname }: { readonly hostname: string }): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function toBlockList(subnets: string, family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const subnet of subnets.split(" ")) {
    const [address = "", bits] = subnet.split("/");
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

function blocked(host: string): GatewayError {
  return new GatewayError(
    SSRF_BLOCKED,
    `The request to "${host}" was not sent: it leads to a link-local or reserved address, or to one that is not on the public internet. An adapter may use private addresses if its option allowPrivate is true.`,
    { data: { host } },
  );
}
