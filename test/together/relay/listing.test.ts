import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { ServerStatus } from "../../../core/services/servers.ts";
import {
  cleanPrompt,
  cleanResource,
  cleanTemplate,
  combineListings,
  templateMatcher,
} from "../../../plugins/relay/listing.ts";

function server(
  name: string,
  listing: JsonObject,
  capabilities: JsonObject = { resources: {} },
): ServerStatus {
  const empty = { rejected: [], resources: [], resourceTemplates: [], prompts: [] };
  const status = { name, status: "connected", reason: "", config: {}, info: { capabilities }, listedAt: 1 };
  return { ...status, listing: { ...empty, ...listing } } as unknown as ServerStatus;
}

describe("a URI leads to", () => {
  const offer = combineListings([
    server("one", {
      resources: [{ uri: "file:///a", name: "a" }],
      resourceTemplates: [{ uriTemplate: "note://{id}/text", name: "notes" }],
    }),
    server("two", {
      resources: [
        { uri: "file:///a", name: "other" },
        { uri: "file:///b", name: "b" },
      ],
    }),
  ]);

  test("the server that lists it, and the first of two", () => {
    expect(offer.findServer("file:///a")).toBe("one");
    expect(offer.findServer("file:///b")).toBe("two");
    expect(offer.shadowed).toEqual([{ uri: "file:///a", server: "two", by: "one" }]);
  });

  test("the server that has a template for it", () => {
    expect(offer.findServer("note://7/text")).toBe("one");
    expect(offer.findTemplateServer("note://{id}/text")).toBe("one");
  });

  test("no server if it could be any, so that no server hears of another's", () => {
    expect(offer.findServer("secret://x")).toBeUndefined();
  });

  test("the only server that has resources at all", () => {
    const alone = combineListings([server("one", {}), server("two", {}, { tools: {} })]);
    expect(alone.findServer("made://up")).toBe("one");
  });
});

test("capabilities are those that servers declared", () => {
  const offer = combineListings([
    server("one", {}, { resources: { subscribe: true } }),
    server("two", {}, { completions: {}, resources: { subscribe: "yes" } }),
  ]);
  expect(offer.can("subscribe")).toBe(true);
  expect(offer.can("subscribe", "two")).toBe(false);
  expect(offer.can("completions", "one")).toBe(false);
  expect(offer.can("completions")).toBe(true);
});

describe("templates", () => {
  test.each([
    ["demo://text/{id}", "demo://text/7", true],
    ["demo://text/{id}", "demo://blob/7", false],
    ["file:///{+path}", "file:///a/b/c.txt", true],
    ["search://{?q}", "search://?q=a", true],
    ["odd://[a]*?/{x}", "odd://[a]*?/1", true],
    ["odd://[a]*?/{x}", "odd://a/1", false],
    ["broken://{", "broken://{", true],
  ])("%s and %s", (template, uri, fits) => {
    expect(templateMatcher(template)(uri)).toBe(fits);
  });

  test("take no longer than they are long", () => {
    const template = `x://${"{a}a".repeat(500)}`;
    expect(templateMatcher(template)(`x://${"a".repeat(8_000)}b`)).toBe(false);
  });
});

test("whatever a server lists, what is left of it has the fields that clients insist on", () => {
  const wild = fc.dictionary(
    fc.constantFrom(
      "uri",
      "uriTemplate",
      "name",
      "title",
      "description",
      "mimeType",
      "size",
      "arguments",
      "_meta",
    ),
    fc.anything({ maxDepth: 2 }),
  );
  fc.assert(
    fc.property(wild, (item) => {
      const resource = cleanResource(item);
      if (resource) expect([typeof resource.uri, typeof resource.name]).toEqual(["string", "string"]);
      const template = cleanTemplate(item);
      if (template) expect([typeof template.uriTemplate, typeof template.name]).toEqual(["string", "string"]);
      const prompt = cleanPrompt(item);
      for (const argument of (prompt?.["arguments"] ?? []) as JsonObject[]) {
        expect(typeof argument["name"]).toBe("string");
      }
      for (const tidied of [resource, template, prompt]) {
        expect(["string", "undefined"]).toContain(typeof tidied?.["description"]);
      }
    }),
  );
});
