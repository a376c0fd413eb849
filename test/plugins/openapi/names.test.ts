import fc from "fast-check";
import { expect, test } from "vitest";
import { toKebabCase } from "../../../plugins/lib/tool-names.ts";
import type { FoundOperation } from "../../../plugins/openapi/document.ts";
import { createArgumentNames, createToolNames } from "../../../plugins/openapi/names.ts";

function found(operationId: string | undefined, method = "GET", path = "/"): FoundOperation {
  return { method, path, item: {}, operation: operationId === undefined ? {} : { operationId } };
}

test.each([
  ["chargeAuthorization", "charge-authorization"],
  ["PostPaymentIntents", "post-payment-intents"],
  ["repos/list-for-org", "repos-list-for-org"],
  ["getHTTPSettings", "get-http-settings"],
  ["list_users.v2", "list-users-v2"],
  ["créerCommande", "creer-commande"],
  ["--x--", "x"],
  ["注文", ""],
])("%s becomes %s", (id, name) => {
  expect(toKebabCase(id)).toBe(name);
});

test("an operation without an id of its own is called after its method and path", () => {
  expect(
    createToolNames([found(undefined, "GET", "/users/{id}/keys"), found("注文", "POST", "/orders")]),
  ).toEqual(["get-users-id-keys", "post-orders"]);
});

test("operations that would have one name are all called after their method and path too", () => {
  const names = createToolNames([
    found("listUsers", "GET", "/a"),
    found("list_users", "GET", "/b"),
    found("other"),
  ]);
  expect(names).toEqual(["list-users-get-a", "list-users-get-b", "other"]);
});

test("names are unique, fit the pattern of ids, and do not depend on what order operations come in", () => {
  const operation = fc
    .tuple(
      fc.option(fc.oneof(fc.string(), fc.constantFrom("aB", "a-b", "a_b", "a-b-get-x")), { nil: undefined }),
      fc.constantFrom("GET", "POST"),
      fc.constantFrom("/x", "/y", "/{x}", "/é"),
    )
    .map(([id, method, path]) => found(id, method, path));
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 12 }), (operations) => {
      const names = createToolNames(operations);
      expect(new Set(names).size).toBe(names.length);
      for (const name of names) expect(name).toMatch(/^[a-z0-9-]+$/);
      expect(createToolNames(operations)).toEqual(names);
      expect(new Set(createToolNames(operations.toReversed()))).toEqual(new Set(names));
    }),
  );
});

test("a name that is too long is cut, and still its own", () => {
  const [one = "", other = ""] = createToolNames([
    found(`${"a".repeat(200)}b`),
    found(`${"a".repeat(200)}c`),
  ]);
  expect(one.length).toBeLessThanOrEqual(100);
  expect(one).not.toBe(other);
});

test("thousands of operations of one name are named at once", () => {
  const operations = Array.from({ length: 3_000 }, () => found("same", "GET", "/same"));
  const before = performance.now();
  expect(new Set(createToolNames(operations)).size).toBe(3_000);
  expect(performance.now() - before).toBeLessThan(10_000);
});

test("of two arguments of one name the later one says where it goes", () => {
  const getName = createArgumentNames();
  expect([
    getName("id", "path"),
    getName("id", "query"),
    getName("id", "body"),
    getName("body_id", "body"),
  ]).toEqual(["id", "query_id", "body_id", "body_body_id"]);
});

test("an argument holds only characters that every model may say", () => {
  const getName = createArgumentNames();
  expect(
    ["filter[status]", "$top", "X-Tenant", "user.fields", "é", "__proto__"].map((name) =>
      getName(name, "query"),
    ),
  ).toEqual(["filter_status", "top", "X-Tenant", "user.fields", "query", "proto"]);
});
