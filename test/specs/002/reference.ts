import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { ask, CHARGE, callTool, described, execute } from "./world.ts";

const inputs = (): Readonly<Record<string, JsonObject>> =>
  described("gateway.reference").inputSchema["properties"] as Readonly<Record<string, JsonObject>>;
const paystack = (): Promise<JsonObject> => ask("reference", { topic: "paystack" });

/** Lines 367 to 433: gateway.reference. */
export function referenceRows({ row, differs, added, prose }: Specification): void {
  prose(369, "373-376", 379, 381, 390, "392-399", 407, "413-416", "421-422", 432);

  row("371", "There is documentation on adapters, tools and concepts.", async () => {
    for (const [topic, type] of [
      ["paystack", "adapter"],
      [CHARGE, "tool"],
      ["idempotency", "concept"],
    ])
      expect(await ask("reference", { topic })).toMatchObject({ topic, type });
  });
  row("377-378", "The tool is listed under its name and description.", () => {
    expect(described("gateway.reference")).toMatchObject({
      name: "gateway.reference",
      description: "Get documentation, examples, and usage guides.",
    });
  });
  row("380, 391", "The arguments are an object, of which topic is required.", async () => {
    expect(described("gateway.reference").inputSchema).toMatchObject({ type: "object", required: ["topic"] });
    expect(await callTool("gateway.reference", { section: "all" })).toMatchObject({
      error: { code: "INVALID_ARGUMENTS" },
    });
  });
  row("382-385", "topic is the name of an adapter, a tool_id or a concept.", async () => {
    expect(inputs()["topic"]).toEqual({ type: "string", description: "Adapter name, tool_id, or concept" });
    expect(await ask("reference", { topic: "Paystack" })).toMatchObject({ type: "adapter" });
    expect(await callTool("gateway.reference", { topic: "confirmations?" })).toMatchObject({
      error: { code: "TOOL_NOT_FOUND", message: expect.stringContaining("confirmation") },
    });
  });
  row("386-389", "section is one of seven values, and leaves the other sections out.", async () => {
    const sections = [
      "overview",
      "authentication",
      "examples",
      "errors",
      "webhooks",
      "best_practices",
      "all",
    ];
    expect(inputs()["section"]).toEqual({ type: "string", enum: sections });
    const names = async (section: string): Promise<string[]> =>
      Object.keys(await ask("reference", { topic: "paystack", section })).filter(
        (name) => !["topic", "type", "next_step"].includes(name),
      );
    for (const section of sections.slice(0, -1))
      expect(await names(section)).toEqual([section === "errors" ? "common_errors" : section]);
    expect(await names("all")).toHaveLength(6);
  });
  row("400-401", "The answer repeats the topic and says what kind it is.", async () => {
    expect(await paystack()).toMatchObject({ topic: "paystack", type: "adapter" });
  });
  row("403-406", "The overview has name, description and a link to the documentation.", async () => {
    expect((await paystack())["overview"]).toEqual({
      name: "Paystack",
      description: "Payment processing for African markets",
      documentation: "https://paystack.com/docs/api",
    });
  });
  row("409-410, 412", "Authentication has its type and the variable that holds the credential.", async () => {
    expect((await paystack())["authentication"]).toMatchObject({
      type: "bearer",
      env_var: "PAYSTACK_SECRET_KEY",
    });
  });
  differs(
    "411",
    "The header is shown with a key like sk_live_xxxxx.",
    "It is shown with the name of the variable: an agent could take a made-up key for one to send.",
    async () => {
      expect((await paystack())["authentication"]).toMatchObject({
        header: "Authorization: Bearer $PAYSTACK_SECRET_KEY",
      });
      expect(JSON.stringify(await paystack())).not.toContain("sk_canary");
    },
  );
  row("417", "Examples have a title.", async () => {
    const { examples } = (await paystack()) as { examples: JsonObject[] };
    expect(examples[0]).toMatchObject({ title: "Initialize Transaction" });
    expect(examples.length).toBeLessThanOrEqual(3);
  });
  row("418", "They name an operation, which can be executed.", async () => {
    const { examples } = (await paystack()) as { examples: JsonObject[] };
    expect(examples[0]).toMatchObject({ tool_id: "paystack:initialize-transaction" });
  });
  row("419", "They have a request with the required parameters, which passes the check.", async () => {
    const { examples } = (await paystack()) as { examples: { tool_id: string; request: object }[] };
    expect(examples[0]?.request).toMatchObject({ amount: expect.any(Number), email: expect.any(String) });
    for (const { tool_id, request } of examples)
      expect(await execute(tool_id, request, { dry_run: true })).toMatchObject({ success: true });
  });
  row("420", "They have a response, where the document has a short one.", async () => {
    const { examples } = (await paystack()) as { examples: JsonObject[] };
    expect(examples[0]?.["response"]).toEqual({
      status: true,
      data: { authorization_url: "https://checkout.example/x" },
    });
    expect(examples[1]).not.toHaveProperty("response");
  });
  row("424-426", "Common errors have code, meaning and fix.", async () => {
    const { common_errors } = (await paystack()) as { common_errors: JsonObject[] };
    expect(common_errors[0]).toMatchObject({
      code: "invalid_key",
      meaning: "The API key is not valid.",
      fix: expect.stringContaining("PAYSTACK_SECRET_KEY"),
    });
    for (const error of common_errors)
      expect(error).toMatchObject({
        code: expect.any(String),
        meaning: expect.any(String),
        fix: expect.any(String),
      });
  });
  row("428-431", "Best practices are sentences, among them those of the example.", async () => {
    expect((await paystack())["best_practices"]).toEqual(
      expect.arrayContaining(["Always verify transactions server-side", "Use idempotency keys for charges"]),
    );
  });
  added(
    "384",
    "A tool_id is answered with its whole schema, its constraints and the errors of its document.",
    "The lines show the answer for an adapter.",
    async () => {
      const answer = await ask("reference", { topic: CHARGE });
      expect(answer["overview"]).toMatchObject({
        input_schema: {
          properties: { amount: { type: "integer" }, currency: { enum: expect.arrayContaining(["NGN"]) } },
          required: expect.arrayContaining(["amount", "email", "authorization_code"]),
        },
        constraints: { risk_level: "high", requires_idempotency: true },
        description: expect.not.stringContaining("Charge Authorization."),
      });
      expect(answer["common_errors"]).toContainEqual(
        expect.objectContaining({ code: "unauthorized", status: "401" }),
      );
    },
  );
  added(
    "384",
    "The concept errors lists every code of the gateway, with meaning and fix where an agent can do something.",
    "The lines do not say which concepts there are.",
    async () => {
      const { overview, common_errors } = (await ask("reference", { topic: "errors" })) as {
        overview: { description: string };
        common_errors: { code: string }[];
      };
      const codes = common_errors.map(({ code }) => code);
      for (const code of ["TOOL_ERROR", "IDEMPOTENCY_REQUIRED", "CONFIRMATION_REQUIRED", "MISSING_VARIABLE"])
        expect(codes).toContain(code);
      for (const code of ["INTERNAL", "SSRF_BLOCKED", "CLIENT_LEFT"]) {
        expect(overview.description).toContain(code);
        expect(await ask("reference", { topic: code })).toMatchObject({ common_errors: [{ code }] });
      }
    },
  );
}
