import fc from "fast-check";
import { expect, test } from "vitest";
import { isAllowed } from "../../../../plugins/lib/http/address.ts";

// First and last address of each range, and the neighbors outside of it.
const ranges4: [string, string, string | undefined, string | undefined, boolean][] = [
  ["0.0.0.0", "0.255.255.255", undefined, "1.0.0.0", false],
  ["10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0", true],
  ["100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0", true],
  ["127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0", true],
  ["169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0", false],
  ["172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0", true],
  ["192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0", false],
  ["192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0", false],
  ["192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0", false],
  ["192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0", true],
  ["198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0", true],
  ["198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0", false],
  ["203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0", false],
  ["224.0.0.0", "239.255.255.255", "223.255.255.255", undefined, false],
  ["240.0.0.0", "255.255.255.255", undefined, undefined, false],
];
test.each(ranges4)("%s to %s is not public", (first, last, before, after, isPrivate) => {
  for (const inside of [first, last, `::ffff:${first}`, `::ffff:${last}`, `::FFFF:${last}`]) {
    expect(isAllowed(inside, "public"), inside).toBe(false);
    expect(isAllowed(inside, "private"), inside).toBe(isPrivate);
  }
  for (const outside of [before, after]) {
    if (outside !== undefined) expect(isAllowed(outside, "public"), outside).toBe(true);
  }
});

test.each([
  ["::", false],
  ["::1", true],
  ["::2", false],
  ["::7f00:1", false],
  ["64:ff9b::7f00:1", false],
  ["64:ff9b::808:808", false],
  ["64:ff9b:1::1", false],
  ["100::1", false],
  ["2001::1", false],
  ["2001:1ff:ffff::1", false],
  ["2001:db8::1", false],
  ["2002:7f00:1::", false],
  ["2002:808:808::", false],
  ["3fff::1", false],
  ["4000::1", false],
  ["fc00::1", true],
  ["fdff:ffff::1", true],
  ["fe80::1", false],
  ["fe80::1%eth0", false],
  ["fec0::1", false],
  ["ff02::1", false],
])("%s is not public", (address, isPrivate) => {
  expect(isAllowed(address, "public")).toBe(false);
  expect(isAllowed(address, "private")).toBe(isPrivate);
});

test.each([
  "2001:200::1",
  "2003::1",
  "2606:4700::1111",
  "2a00:1450::1",
  "3ffe::1",
  "8.8.8.8",
  "::ffff:8.8.8.8",
])("%s is public", (address) => {
  expect(isAllowed(address, "public")).toBe(true);
});

test.each([
  undefined,
  "",
  "localhost",
  "127.1",
  "0x7f.1",
  "2130706433",
  "1.2.3",
  "::ffff:1.2.3",
  "10.0.0.0/8",
])("%s is no address, so nothing goes there", (address) => {
  expect(isAllowed(address, "private")).toBe(false);
});

test("every address of a private range is private, however it is written", () => {
  const byte = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(fc.constantFrom("10", "127"), byte, byte, byte, (first, b, c, d) => {
      const plain = `${first}.${b}.${c}.${d}`;
      for (const written of [
        plain,
        `::ffff:${plain}`,
        new URL(`http://[::ffff:${plain}]`).hostname.slice(1, -1),
      ]) {
        expect(isAllowed(written, "public"), written).toBe(false);
      }
      // The runtime turns other notations into an address before it connects.
      const number = ((Number(first) << 24) | (b << 16) | (c << 8) | d) >>> 0;
      for (const host of [String(number), `0x${number.toString(16)}`]) {
        expect(isAllowed(new URL(`http://${host}`).hostname, "public"), host).toBe(false);
      }
    }),
  );
});
