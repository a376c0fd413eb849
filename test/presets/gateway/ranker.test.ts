import { describe, expect, test } from "vitest";
import { createIntentRanker } from "../../../presets/gateway/intent-ranker.ts";
import { take, testRanker, tool } from "../../contracts/ranker.ts";

testRanker("intent", () => createIntentRanker());

describe("the deterministic ranking", () => {
  const tools = [
    tool("paystack:charge-authorization", "Charge a previously authorized card", ["payments", "cards"]),
    tool("paystack:list-banks", "List the banks of a country"),
    tool("flutterwave:charge-card", "Start a payment"),
  ];
  const ranker = createIntentRanker({
    getLabels: ({ server }) => (server === "paystack" ? ["paystack", "Nigeria"] : [server]),
  });
  take(ranker, tools);
  const rank = async (query: string) =>
    (await ranker.rank(query, { explain: true })).hits.map((hit) => ({
      id: hit.tool.id,
      relevance: hit.relevance,
      terms: hit.why?.terms.map(({ term, field }) => `${term} in ${field}`),
    }));

  test("an id or a name is certain, and words alone never are", async () => {
    expect((await rank("paystack:charge-authorization"))[0]).toMatchObject({
      id: "paystack:charge-authorization",
      relevance: 1,
    });
    expect((await rank("charge_card"))[0]).toMatchObject({ id: "flutterwave:charge-card", relevance: 0.99 });
    const [best] = await rank("charge authorization cards payments");
    expect(best?.id).toBe("paystack:charge-authorization");
    expect(best?.relevance).toBeLessThan(0.98);
  });

  test("a word counts most in the name, then in a tag, then in the description, then as what is known of the adapter", async () => {
    const [name] = await rank("authorization zzz");
    const [tag] = await rank("payments zzz");
    const [label] = await rank("nigeria zzz");
    const [description] = await rank("previously zzz");
    const order = [name, tag, description, label].map((hit) => hit?.relevance ?? 0);
    expect(order).toEqual(order.toSorted((a, b) => b - a));
    expect(new Set(order).size).toBe(4);
  });

  test("names which words were found where, as they were written", async () => {
    expect((await rank("charging a card in Nigeria"))[0]).toMatchObject({
      id: "paystack:charge-authorization",
      terms: expect.arrayContaining(["charging in name", "card in tag", "nigeria in adapter"]),
    });
  });

  test("an adapter is not preferred because of its other tools", async () => {
    expect((await rank("charge card"))[0]?.id).toBe("flutterwave:charge-card");
  });

  test("the less of a query is found, the less certain it is", async () => {
    const [all] = await rank("charge card");
    const [half] = await rank("charge card tomorrow morning");
    expect(all?.relevance).toBeGreaterThan(0.9);
    expect(half?.relevance).toBeLessThan(0.6);
  });
});
