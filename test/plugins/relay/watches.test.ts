import { expect, test } from "vitest";
import type { Servers } from "../../../core/services/servers.ts";
import { createWatches } from "../../../plugins/relay/watches.ts";

/** Notes what servers are told to watch. */
function noted(refuse = false) {
  const told: [string, readonly string[]][] = [];
  const watch = async (server: string, uris: readonly string[]): Promise<void> => {
    if (refuse && uris.length > 0) throw new Error("It cannot be watched.");
    told.push([server, uris]);
  };
  return { told, watches: createWatches(() => ({ watch }) as Partial<Servers> as Servers) };
}

test("a server is told of each URI once, and when the last one leaves", async () => {
  const { told, watches } = noted();
  const heard: string[] = [];
  const first = await watches.add("one", "a:b", (uri) => heard.push(`first ${uri}`));
  const second = await watches.add("one", "a:b", (uri) => heard.push(`second ${uri}`));
  watches.notify("one", "a:b");
  watches.notify("one", "a:b/c");
  watches.notify("one", "a:bc");
  watches.notify("two", "a:b");
  expect(heard).toEqual(["first a:b", "second a:b", "first a:b/c", "second a:b/c"]);
  await first();
  await first();
  expect(told).toEqual([["one", ["a:b"]]]);
  await second();
  expect(told).toEqual([
    ["one", ["a:b"]],
    ["one", []],
  ]);
});

test("a failed subscription leaves nothing behind", async () => {
  const { watches } = noted(true);
  const heard: string[] = [];
  await expect(watches.add("one", "a:b", (uri) => heard.push(uri))).rejects.toThrow("It cannot be watched.");
  watches.notify("one", "a:b");
  expect(heard).toEqual([]);
});
