import { BlockList, isIP } from "node:net";

type Subnet = readonly [address: string, bits: number];

/** Addresses that are somebody's own: this machine and private networks. */
const PRIVATE_4: readonly Subnet[] = [
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
];
const PRIVATE_6: readonly Subnet[] = [
  ["::1", 128],
  ["fc00::", 7],
];

/** Addresses that are nobody's, or everybody's, or hand out the secrets of a machine in a cloud. */
const FORBIDDEN_4: readonly Subnet[] = [
  ["0.0.0.0", 8],
  ["169.254.0.0", 16],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];
/** In the part that is public: other ways to write IPv4 addresses, and what is for documentation. */
const FORBIDDEN_6: readonly Subnet[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];
/** Where public addresses are; all else is not given out, or leads elsewhere by translation. */
const PUBLIC_6: readonly Subnet[] = [["2000::", 3]];

const forbidden = { ipv4: listOf(FORBIDDEN_4, "ipv4"), ipv6: listOf(FORBIDDEN_6, "ipv6") };
const own = { ipv4: listOf(PRIVATE_4, "ipv4"), ipv6: listOf(PRIVATE_6, "ipv6") };
const open = listOf(PUBLIC_6, "ipv6");

/** Whether a request may go to an address: one of the public internet, or a private one where that is allowed. */
export function mayConnect(address: string | undefined, allowPrivate: boolean): boolean {
  const plain = (address ?? "").replace(/%.*$/, "");
  // A socket for both kinds of addresses shows those of the older kind like this.
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  const known = mapped ?? plain;
  const kind = isIP(known) === 4 ? "ipv4" : "ipv6";
  if (isIP(known) === 0) return false;
  if (own[kind].check(known, kind)) return allowPrivate;
  if (forbidden[kind].check(known, kind)) return false;
  return kind === "ipv4" || open.check(known, kind);
}

function listOf(subnets: readonly Subnet[], kind: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const [address, bits] of subnets) list.addSubnet(address, bits, kind);
  return list;
}
