import fc from "fast-check";
import { expect, test } from "vitest";
import { assignNames, type Named } from "../../../plugins/lib/tool-names.ts";

const of = (...ids: string[]): Named[] =>
  ids.map((id) => {
    const [server = "", name = ""] = id.split(":");
    return { server, name };
  });

test("a name that is used once stays as it is", () => {
  expect(assignNames(of("a:echo", "a:get.sum", "b:list_files"))).toEqual(["echo", "get.sum", "list_files"]);
});

test("a name that two servers have is prefixed for both", () => {
  expect(assignNames(of("a:echo", "b:echo", "b:sum"))).toEqual(["a__echo", "b__echo", "sum"]);
});

test("a name that is too long is cut, and ends in a hash of its own", () => {
  const long = "x".repeat(80);
  const [one, two] = assignNames(of(`a:${long}1`, `a:${long}2`));
  expect(one).toMatch(/^x{55}-[0-9a-f]{8}$/);
  expect(two).toMatch(/^x{55}-[0-9a-f]{8}$/);
  expect(one).not.toBe(two);
});

test("a name that clients do not take is spelled so that they do", () => {
  const [spaced, foreign] = assignNames(of("a:send a mail", "a:发送"));
  expect(spaced).toMatch(/^send_a_mail-[0-9a-f]{8}$/);
  expect(foreign).toMatch(/^x-[0-9a-f]{8}$/);
});

test("the gateway's own tools keep their names, and others make way", () => {
  const own = { server: "anygpt", name: "search_tools", builtin: true };
  expect(assignNames([...of("index:search_tools"), own])).toEqual(["index__search_tools", "search_tools"]);
});

test("names that begin with a server are that server's, whatever others call their tools", () => {
  expect(assignNames(of("a:echo", "b:echo", "c:a__echo"))).toEqual(["a__echo", "b__echo", "c__a__echo"]);
  expect(assignNames(of("evil:good__send"), ["good"])).toEqual(["evil__good__send"]);
  expect(assignNames(of("evil:Good__send"), ["good"])).toEqual(["evil__Good__send"]);
  expect(assignNames(of("good:good__send"), ["good"])).toEqual(["good__send"]);
  expect(assignNames(of("evil:bad__send"), ["good"])).toEqual(["bad__send"]);
});

test("of two servers that a name begins with, it is the longer one's", () => {
  expect(assignNames(of("a:a__b__c"), ["a__b"])).toEqual(["a__a__b__c"]);
  expect(assignNames(of("a__b:a__b__c"), ["a"])).toEqual(["a__b__c"]);
});

test("names fit every client, are each their own, and do not depend on the order", () => {
  const part = fc.oneof(
    fc.constantFrom("a", "b", "a__b", "b__c", "__", "-"),
    fc.stringMatching(/^[a-z0-9_.-]{1,90}$/),
    fc.string({ minLength: 1, maxLength: 80 }),
  );
  const item = fc.record({ server: part, name: part });
  const items = fc.uniqueArray(item, {
    maxLength: 12,
    selector: (one) => JSON.stringify([one.server, one.name]),
  });
  fc.assert(
    fc.property(items, fc.infiniteStream(fc.nat()), (given, order) => {
      const names = assignNames(given);
      expect(new Set(names).size).toBe(given.length);
      for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
      const shuffled = given
        .map((one, index) => ({ one, index, at: order.next().value as number }))
        .sort((a, b) => a.at - b.at);
      expect(assignNames(shuffled.map(({ one }) => one))).toEqual(shuffled.map(({ index }) => names[index]));
    }),
  );
});
