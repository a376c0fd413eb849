import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { filterBody, limitBody, limitEvents } from "../../../../plugins/lib/http/body.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const MAX = 64;

/** Runs chunks through the filter of events: what comes out of each, and which ids were dropped. */
function run(chunks: readonly string[] | readonly Uint8Array[]): { out: string[]; dropped: unknown[] } {
  const dropped: unknown[] = [];
  const filter = limitEvents(MAX, (id) => dropped.push(id));
  const bytes = chunks.map((chunk) =>
    typeof chunk === "string" ? encoder.encode(chunk) : new Uint8Array(chunk),
  );
  const out = [...bytes.map((chunk) => filter.chunk(chunk)), filter.end()];
  return { out: out.map((parts) => parts.map((part) => decoder.decode(part)).join("")), dropped };
}

/** The events of a stream, whatever ends their lines. */
function readEvents(text: string): string[] {
  return text
    .replace(/\r\n?/g, "\n")
    .split(/\n\n+/)
    .map((event) => event.trim())
    .filter((event) => event !== "");
}

test("every event that is small enough arrives whole, in order, however the stream is cut", () => {
  const line = fc.stringMatching(/^[a-z]{1,40}$/);
  const event = fc.record({
    lines: fc.array(line, { minLength: 1, maxLength: 4 }),
    eol: fc.constantFrom("\n", "\r", "\r\n"),
  });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 30 }), (events, cuts) => {
      const texts = events.map(({ lines, eol }) => `${lines.join(eol)}${eol}${eol}`);
      const whole = encoder.encode(texts.join(""));
      const edges = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].toSorted((a, b) => a - b);
      const chunks = [0, ...edges].map((start, index) => whole.subarray(start, edges[index] ?? whole.length));
      // The last byte of a "\r\n" comes after the event has ended.
      const sizes = texts.map((text) => text.replace(/\r\n$/, "\r").length);
      const small = texts.filter((_, index) => (sizes[index] ?? 0) <= MAX);
      const { out, dropped } = run(chunks);
      expect(readEvents(out.join(""))).toEqual(small.flatMap(readEvents));
      expect(dropped).toHaveLength(texts.length - small.length);
    }),
  );
});

test("an event is passed on as soon as it is whole, and not before", () => {
  expect(run(["data: a", "\n", "\ndata", ": b\n\n"]).out).toEqual(["", "", "data: a\n\n", "data: b\n\n", ""]);
});

test("an event whose last byte comes late is not held back for it", () => {
  expect(run(["data: a\r\n\r", "\n", "data: b\r\n\r\n"]).out).toEqual([
    "data: a\r\n\r",
    "\n",
    "data: b\r\n\r\n",
    "",
  ]);
});

test.each([
  ["first", `{"jsonrpc":"2.0","id":12,"result":{"id":1,"x":"${"y".repeat(99)}"}}`, 12],
  ["last", `{"result":{"id":1,"x":"${"y".repeat(99)}"},"jsonrpc":"2.0","id":"a-1"}`, "a-1"],
])("the id of a message that is too large is found where it stands %s", (_, message, id) => {
  const { out, dropped } = run([
    "event: message\nid: 5\nda",
    `ta: ${message.slice(0, 50)}`,
    message.slice(50),
    "\n\n",
    "data: z\n\n",
  ]);
  expect(dropped).toEqual([undefined, id]);
  expect(out.join("")).toBe("data: z\n\n");
});

test("a stream that is one endless event holds no more than is allowed", () => {
  const filter = limitEvents(MAX, () => {});
  for (let count = 0; count < 1000; count++) expect(filter.chunk(encoder.encode("data: x\n"))).toEqual([]);
  expect(filter.end()).toEqual([]);
});

test("a reader that stops ends the stream underneath", async () => {
  let ended = 0;
  const source = new Readable({
    read() {
      this.push(encoder.encode("x"));
    },
  });
  const body = filterBody(
    source,
    limitBody(MAX),
    () => ended++,
    (thrown) => thrown,
  );
  const reader = body.getReader();
  await reader.read();
  await reader.cancel("enough");
  expect([ended, source.destroyed]).toEqual([1, true]);
});
