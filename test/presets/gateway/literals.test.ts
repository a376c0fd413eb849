import { describe, expect, test } from "vitest";
import type { JsonObject, Tool } from "../../../core/mod.ts";
import { fillParams, splitLiterals } from "../../../presets/gateway/literals.ts";

describe("values of a request", () => {
  test.each([
    ["charge AUTH_abc for a@b.co amount 5000", "charge for", ["AUTH_abc", "a@b.co", "5000"]],
    ["refund transaction T685312322670591", "refund transaction", ["T685312322670591"]],
    ["list charges since 2026-01-31, please", "list charges please", ["2026-01-31"]],
    ["register webhook https://a.example/x?y=1.", "register webhook", ["https://a.example/x?y=1"]],
    ["pay $1,200.50 to (cus_9s6XKzkN)", "pay", ["$1,200.50", "cus_9s6XKzkN"]],
    ["get 6f1c8f0e-3a0b-4c57-9a52-1d2f3b4c5d6e", "get", ["6f1c8f0e-3a0b-4c57-9a52-1d2f3b4c5d6e"]],
  ])("are taken out of %j", (query, words, values) => {
    const { words: left, literals } = splitLiterals(query);
    expect(left).toBe(words);
    expect(literals.map(({ text }) => text)).toEqual(values);
  });

  test.each([
    "charge_authorization",
    "upload to s3",
    "oauth2 token",
    "base64 of ipv6",
    "server:tool",
    "v2 of x-1",
  ])("are not seen in %j", (query) => {
    expect(splitLiterals(query)).toEqual({ words: query, literals: [] });
  });

  test("leave a number in that an operation has in its name, unless a word says what it is", () => {
    const isWord = (word: string): boolean => word === "3";
    expect(splitLiterals("read part 3", isWord).words).toBe("read part 3");
    expect(splitLiterals("pay amount 3", isWord).words).toBe("pay");
  });

  test("are read in linear time", () => {
    const start = performance.now();
    splitLiterals(`${"a@".repeat(2_000)} ${"1,111".repeat(1_000)}`);
    expect(performance.now() - start).toBeLessThan(500);
  });
});

describe("filled params", () => {
  const fill = (properties: JsonObject, required: string[], query: string, context: object = {}) => {
    const tool = { inputSchema: { type: "object", properties, required } } as unknown as Tool;
    const { params, ambiguous } = fillParams(tool, splitLiterals(query), { ...context });
    return { params, ambiguous: Object.fromEntries(ambiguous) };
  };

  test("have values of the right type and format only", () => {
    const properties = {
      amount: { type: "integer" },
      email: { type: "string", format: "email" },
      day: { type: "string", format: "date" },
    };
    expect(fill(properties, ["amount", "email"], "pay 12.5 for a@b.co on 2026-01-31")).toEqual({
      params: { email: "a@b.co", day: "2026-01-31" },
      ambiguous: {},
    });
  });

  test("have a date where a date is meant, and a time with its zone where a moment is", () => {
    const moment = { since: { type: "string", format: "date-time" } };
    expect(fill(moment, [], "list since 2026-01-31").params).toEqual({});
    expect(fill(moment, [], "list since 2026-01-31T10:00:00").params).toEqual({});
    const told = "2026-01-31T10:00:00Z";
    expect(fill(moment, [], `list since ${told}`).params).toEqual({ since: told });
    const day = { since: { type: "string", format: "date" } };
    expect(fill(day, [], `list since ${told}`).params).toEqual({});
  });

  test("prefer required parameters, and those that the prefix of an id names", () => {
    const properties = {
      customer_id: { type: "string" },
      authorization_code: { type: "string" },
      reference: { type: "string" },
    };
    const required = ["customer_id", "authorization_code"];
    expect(fill(properties, required, "charge AUTH_x1y of CUS_y2z").params).toEqual({
      authorization_code: "AUTH_x1y",
      customer_id: "CUS_y2z",
    });
  });

  test("never have a value that an enum does not allow, from the context either", () => {
    const properties = { currency: { type: "string", enum: ["NGN", "GHS"] }, country: { type: "integer" } };
    expect(fill(properties, [], "x", { currency: "EUR", country: "NG" }).params).toEqual({});
    expect(fill(properties, [], "x", { currency: "NGN" }).params).toEqual({ currency: "NGN" });
  });

  test("have the choice that the request names, where it names one", () => {
    const properties = { type: { type: "string", enum: ["card", "bank_transfer"] } };
    expect(fill(properties, ["type"], "pay by bank transfer").params).toEqual({ type: "bank_transfer" });
    expect(fill(properties, ["type"], "pay by card or bank transfer").params).toEqual({});
    expect(fill(properties, [], "pay by card").params).toEqual({});
  });

  test("leave out what two values could be", () => {
    expect(fill({ amount: { type: "integer" } }, ["amount"], "pay 5 or 6")).toEqual({
      params: {},
      ambiguous: { amount: ["5", "6"] },
    });
  });
});
