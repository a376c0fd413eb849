import { Buffer } from "node:buffer";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createJsonScan } from "../../../plugins/lib/json.ts";
import { createLineReader } from "../../../plugins/lib/lines.ts";

type Event = [kind: string, value: unknown];

/** Feeds a text in pieces that end at these places. */
function read(text: string, cuts: readonly number[], limits = { maxBytes: 1_000, maxDepth: 64 }): Event[] {
  const events: Event[] = [];
  const push = createLineReader(limits, {
    onLine: (line) => events.push(["line", Buffer.from(line).toString()]),
    onRefused: (reason, id) => events.push([reason, id]),
  });
  // A copy for each piece, as streams deliver them: pieces may be taken apart once they are used up.
  const bytes = Buffer.from(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let start = 0;
  for (const end of [...places, bytes.length]) {
    push(new Uint8Array(bytes.subarray(start, end)));
    start = end;
  }
  return events;
}

function measureDepth(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(measureDepth));
}

const cuts = fc.array(fc.nat(), { maxLength: 20 });
const id = fc.oneof(fc.integer(), fc.string());
/** A message with an id anywhere in it, in any notation of JSON. */
const message = fc
  .tuple(fc.jsonValue(), id, fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"))
  .map(([before, own, after, space]) => ({
    id: own,
    text: JSON.stringify({ result: { id: before, text: '"id":7' }, id: own, also: after }, undefined, space),
  }));

describe("lines", () => {
  test("come out the same however the bytes were cut", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), cuts, (texts, places) => {
        const lines = texts.map((text) => text.replaceAll("\n", " "));
        const expected = lines
          .filter((line) => line !== "")
          .map((line) => ["line", Buffer.from(line).toString()]);
        expect(read(lines.map((line) => `${line}\n`).join(""), places)).toEqual(expected);
      }),
    );
  });

  test("that are too long are refused with the id of the request, and the lines around them are kept", () => {
    fc.assert(
      fc.property(message, cuts, fc.boolean(), (given, places, first) => {
        const padding = `"pad":"${"x".repeat(2_000)}\\"id\\":8"`;
        const text = given.text.replaceAll("\n", " ");
        const long = first ? text.replace(/\}$/, `,${padding}}`) : text.replace(/^\{/, `{${padding},`);
        expect(read(`before\n${long}\nafter\n`, places)).toEqual([
          ["line", "before"],
          ["too-large", given.id],
          ["line", "after"],
        ]);
      }),
    );
  });

  test("that are too deep are refused with the id of the request", () => {
    const text = (depth: number): string => `{"result":${"[".repeat(depth)}${"]".repeat(depth)},"id":5}\n`;
    const limits = { maxBytes: 1_000, maxDepth: 10 };
    expect(read(text(9), [], limits)).toEqual([["line", text(9).trim()]]);
    expect(read(`${text(10)}after\n`, [3, 17], limits)).toEqual([
      ["too-deep", 5],
      ["line", "after"],
    ]);
  });

  test("without an end are not delivered", () => {
    expect(read("a line\nhalf a li", [])).toEqual([["line", "a line"]]);
  });
});

describe("a scan", () => {
  test("finds the nesting and the id of any message, whole or in pieces", () => {
    fc.assert(
      fc.property(message, fc.nat(), ({ text, id: own }, cut) => {
        const bytes = Buffer.from(text);
        const place = cut % bytes.length;
        const depth = measureDepth(JSON.parse(text));
        for (const maxDepth of [depth - 1, depth]) {
          const scan = createJsonScan(maxDepth);
          scan.feed(bytes.subarray(0, place));
          scan.feed(bytes.subarray(place));
          expect(scan.tooDeep).toBe(maxDepth < depth);
          expect(scan.id()).toBe(Object.is(own, -0) ? 0 : own);
        }
      }),
    );
  });

  test("survives whatever is not JSON", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const scan = createJsonScan(64);
        scan.feed(bytes);
        const found = scan.id();
        expect(found === undefined || typeof found === "string" || typeof found === "number").toBe(true);
      }),
    );
  });

  test("takes no id from where it is not one", () => {
    for (const text of [
      '{"x":{"id":1}}',
      '[{"id":1}]',
      '"id":1',
      '{"id":{"a":1}}',
      '{"id":null}',
      '{"idx":1,"xid":2}',
    ]) {
      const scan = createJsonScan(64);
      scan.feed(Buffer.from(text));
      expect(scan.id()).toBeUndefined();
    }
  });
});
