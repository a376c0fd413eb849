import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { catchFailure, getError } from "../../support/failure.ts";
import type { Specification } from "../specification.ts";
import { checkFile } from "./registry-file.ts";
import { ask, CHARGE, card, countTokens, execute, openSmall, paystackEntry, world } from "./world.ts";

const recommend = async (args: object): Promise<JsonObject> =>
  (await ask("intent", args))["recommended"] as JsonObject;

/** Lines 665 to 699: the intent, the reference, and the checks of the registry. */
export function ruleRows({ row, differs, prose }: Specification): void {
  prose(665, "679-680", 690, 693, 703);

  row(
    "666, 675",
    "Answers depend on words, tags and facts alone: the same request has the same answer in another gateway.",
    async () => {
      const query = { query: "verify transaction" };
      const [first, second] = await Promise.all([openSmall(), openSmall()]);
      expect(await ask("intent", query, first)).toEqual(await ask("intent", query, second));
    },
  );
  row("668-669", "An operation that is named comes first, with the highest confidence.", async () => {
    expect(await recommend({ query: CHARGE })).toMatchObject({ tool_id: CHARGE, confidence: 1 });
    const named = await recommend({ query: "list transactions" });
    expect(named).toMatchObject({
      tool_id: "paystack:list-transactions",
      why: expect.stringContaining("named"),
    });
    expect(named["confidence"]).toBeGreaterThan(0.97);
  });
  row("670", "Tags in the request raise the score.", async () => {
    const { why } = await recommend({ query: "refund create", adapter: "paystack" });
    expect(why).toMatch(/"refund"/);
    const { alternatives } = await ask("intent", { query: "create transaction", adapter: "paystack" });
    expect(JSON.stringify(alternatives)).toMatch(/in its (tags|name)/);
  });
  row("671", "Words of the request are found in name and description.", async () => {
    const { recommended, alternatives } = await ask("intent", {
      query: "initiated transaction using reference",
    });
    expect(JSON.stringify([recommended, alternatives])).toMatch(/in its description/);
    expect(JSON.stringify([recommended, alternatives])).toContain("paystack:verify-transaction");
  });
  row(
    "672",
    "Only the parameter adapter prefers an adapter: of two with the same document, none else is.",
    async () => {
      const [one, two] = [paystackEntry(), paystackEntry()];
      const gateway = await openSmall({ openapi: { adapters: { one, two } } });
      expect(await ask("intent", { query: "verify transaction" }, gateway)).toMatchObject({
        needs_selection: true,
      });
      const named = await ask("intent", { query: "verify transaction", adapter: "two" }, gateway);
      expect(named["recommended"]).toMatchObject({ adapter: "two" });
    },
  );
  row("673", "Below the threshold the answer is two or three options and needs_selection.", async () => {
    for (const query of ["people should receive reusable payments tomorrow", "read part"]) {
      const answer = await ask("intent", { query });
      expect(answer).toMatchObject({ needs_selection: true });
      expect(answer).not.toHaveProperty("recommended");
      const count = (answer["alternatives"] as object[]).length;
      expect(count).toBeGreaterThanOrEqual(2);
      expect(count).toBeLessThanOrEqual(3);
    }
  });

  row("681", "A reference is thin: it takes at most 700 tokens.", async () => {
    for (const topic of ["paystack", "idempotency", "ngrok-api"])
      expect(countTokens(await ask("reference", { topic })), topic).toBeLessThanOrEqual(700);
  });
  row("682", "It has the kind of authentication and the variable of the gateway.", async () => {
    expect(await ask("reference", { topic: "paystack", section: "authentication" })).toMatchObject({
      authentication: { type: "bearer", env_var: "PAYSTACK_SECRET_KEY" },
    });
  });
  row("683", "It says what errors mean and what to do, as a failed call does.", async () => {
    const { common_errors } = (await ask("reference", { topic: "paystack", section: "errors" })) as {
      common_errors: JsonObject[];
    };
    const known = common_errors.find(({ code }) => code === "invalid_key");
    const options = { idempotency_key: "rules-683" };
    const { error } = await execute(CHARGE, { ...card, amount: 13 }, options);
    expect(error).toMatchObject({ meaning: known?.["meaning"], suggestion: known?.["fix"] });
  });
  row("684", "It says how to use keys and confirmations.", async () => {
    const charge = await ask("reference", { topic: CHARGE, section: "best_practices" });
    expect(JSON.stringify(charge)).toContain("idempotency_key");
    const destroy = await ask("reference", { topic: "paystack:delete-transfer-recipient" });
    expect(JSON.stringify(destroy["best_practices"])).toContain("confirmed: true");
  });
  row("685", "Its examples have the required parameters alone.", async () => {
    const { examples } = (await ask("reference", { topic: CHARGE })) as { examples: { request: object }[] };
    expect(Object.keys(examples[0]?.request ?? {}).toSorted()).toEqual([
      "amount",
      "authorization_code",
      "email",
    ]);
  });
  row("686", "Everything else is a link to the provider's documentation.", async () => {
    for (const [topic, host] of [
      ["paystack", "paystack.com"],
      ["stripe-api-2024-04-10", "docs.stripe.com"],
      [CHARGE, "paystack.com"],
    ] as const) {
      const { overview } = await ask("reference", { topic });
      expect(new URL(String((overview as JsonObject)["documentation"])).host).toBe(host);
    }
  });

  row(
    "691, 699",
    "A gateway in lazy mode does not start on a registry that differs from its operations.",
    async () => {
      const failure = await catchFailure(checkFile((registry) => ({ ...registry, operations: {} })));
      expect(failure).toMatchObject({
        code: "CONFIG_INVALID",
        message: expect.stringContaining("does not start"),
      });
      const same = await checkFile((registry) => registry);
      expect(await ask("intent", { query: "verify transaction" }, same)).toHaveProperty("recommended");
    },
  );
  row("694", "A tool_id that no operation has is a fault.", async () => {
    const failing = checkFile(({ operations, ...rest }) => ({
      ...rest,
      operations: { ...operations, "paystack:gone": operations[CHARGE] },
    }));
    await expect(failing).rejects.toThrow("do not exist: paystack:gone");
  });
  for (const [line, what, field] of [
    ["695", "A missing required field", "input_schema"],
    ["696", "Missing risk metadata", "risk_level"],
  ] as const) {
    row(line, `${what} of one operation is a fault.`, async () => {
      const failing = checkFile(({ operations, ...rest }) => {
        const { [field]: _, ...charge } = operations[CHARGE] as JsonObject;
        return { ...rest, operations: { ...operations, [CHARGE]: charge } };
      });
      await expect(failing).rejects.toThrow(`of: ${CHARGE}`);
    });
  }
  row("697", "A count that is not that of the live operations is a fault.", async () => {
    const failing = checkFile((registry) => ({ ...registry, operation_count: 1604 }));
    await expect(failing).rejects.toThrow("counts 1604 operations");
  });
  row(
    "699",
    "Where that is chosen, the gateway runs degraded: gateway.intent is off, the other tools work.",
    async () => {
      const gateway = await checkFile((registry) => ({ ...registry, operation_count: 1 }), {
        registry: { onFailure: "degrade" },
      });
      expect(gateway.services.mode?.().name).toBe("degraded");
      const args = { query: "verify transaction" };
      expect(getError(await gateway.run({ tool: "gateway:gateway.intent", args })).code).toBe(
        "INTENT_DISABLED",
      );
      const read = { tool_id: "paystack:list-transactions", params: {} };
      expect(await ask("execute", read, gateway)).toMatchObject({ success: true });
    },
  );
  differs(
    "704-711",
    "The parts are folders of the gateway: tools, registry, search.",
    "They are plugins and tools of one preset, which are set up in the gateway's own process.",
    () => {
      expect(world.gateway.plugins).toEqual(
        expect.arrayContaining(["discovery", "registry", "search", "guard"]),
      );
      expect(world.gateway.tools).toHaveLength(5);
    },
  );
}
