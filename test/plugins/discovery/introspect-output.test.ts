import { describe, expect, test } from "vitest";
import type { Gateway, SettledCall, ToolDefinition } from "../../../core/mod.ts";
import type { ServerConfig } from "../../../core/services/sources.ts";
import { createOutputIntrospection } from "../../../plugins/discovery/introspect-output.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { checkArguments } from "../../support/services.ts";

const config: ServerConfig = {
  name: "shop",
  connection: { type: "http", url: "http://127.0.0.1:1/mcp", headers: {} },
  origin: { source: "inline", scope: "config" },
};
const repo = { type: "object", properties: { repo: { type: "string" } }, required: ["repo"] };
const tool = (name: string, more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name,
  inputSchema: repo,
  ...more,
});

/** A gateway whose tools give these answers, with what its audit saw. */
async function openTool(
  tools: readonly ToolDefinition[],
  answer: (call: { readonly name: string }) => object,
): Promise<{ gateway: Gateway; audited: SettledCall[] }> {
  const audited: SettledCall[] = [];
  const gateway = await openGateway({
    plugins: [
      checkArguments(),
      {
        name: "answers",
        setup: () => ({
          execute(call) {
            call.result = answer({ name: call.tool?.name ?? "" }) as never;
          },
          audit: (settled) => void audited.push(settled),
        }),
      },
    ],
  });
  await gateway.catalog.replace({ id: "shop" }, tools);
  return { gateway, audited };
}

const json = (value: unknown): object => ({ content: [{ type: "text", text: JSON.stringify(value) }] });

describe("finding out what a tool answers", () => {
  test("calls it once, with arguments that it takes, in the sight of the audit", async () => {
    const list = tool("list_issues");
    const { gateway, audited } = await openTool([list], () => json([{ id: 1, title: "a" }]));
    const introspect = createOutputIntrospection(gateway);
    const schema = {
      type: "array",
      items: {
        type: "object",
        properties: { id: { type: "integer" }, title: { type: "string" } },
        required: ["id", "title"],
      },
    };
    expect(await introspect(list, { config })).toEqual(schema);
    expect(await introspect(list, { config })).toEqual(schema);
    expect(audited).toHaveLength(1);
    expect(audited[0]).toMatchObject({ ok: true, toolId: "shop:list_issues" });
    expect(typeof audited[0]?.args["repo"]).toBe("string");
  });

  test("prefers structured content to text blocks", async () => {
    const get = tool("get_status");
    const answer = { ...json({ other: 1 }), structuredContent: { up: true } };
    const { gateway } = await openTool([get], () => answer);
    expect(await createOutputIntrospection(gateway)(get, { config })).toEqual({
      type: "object",
      properties: { up: { type: "boolean" } },
      required: ["up"],
    });
  });

  test("calls nothing that may change something, whatever its server says of it", async () => {
    const tools = [
      tool("create_issue"),
      tool("delete_issue", { annotations: { readOnlyHint: true } }),
      tool("frobnicate", { annotations: { readOnlyHint: true } }),
      tool("list_issues", { annotations: { destructiveHint: true } }),
      tool("send_mail"),
      tool("execute_sql"),
      tool("push_schema"),
      tool("wire_funds_overview"),
      tool("list_dropdb"),
    ];
    const { gateway, audited } = await openTool(tools, () => json({}));
    const introspect = createOutputIntrospection(gateway);
    for (const one of tools) expect(await introspect(one, { config })).toBeUndefined();
    expect(audited).toEqual([]);
  });

  test("calls nothing on a server that waits for approval, or that is not allowed", async () => {
    const { gateway, audited } = await openTool([tool("list_issues")], () => json({}));
    const waiting = { ...gateway, services: { servers: { status: () => ({ status: "needs-approval" }) } } };
    const held = createOutputIntrospection(waiting as unknown as Gateway);
    expect(await held(tool("list_issues"), { config })).toBeUndefined();
    const refused = createOutputIntrospection(gateway, () => false);
    expect(await refused(tool("list_issues"), { config })).toBeUndefined();
    expect(audited).toEqual([]);
  });

  test("calls nothing that is not in the catalog as it is, or that is disabled", async () => {
    const { gateway, audited } = await openTool([tool("list_issues")], () => json({}));
    const introspect = createOutputIntrospection(gateway);
    expect(await introspect(tool("list_pulls"), { config })).toBeUndefined();
    expect(await introspect(tool("list_issues", { description: "Another" }), { config })).toBeUndefined();
    expect(audited).toEqual([]);
  });

  test.each<[string, () => object]>([
    ["a failure of the tool", () => ({ ...json({ a: 1 }), isError: true })],
    ["a text that is no data", () => ({ content: [{ type: "text", text: "42" }] })],
    ["an answer of several parts", () => ({ content: [{ type: "text", text: "{}" }, { type: "image" }] })],
    [
      "an error",
      () => {
        throw new Error("broken");
      },
    ],
  ])("leaves no schema after %s, and does not try again", async (_, answer) => {
    const get = tool("get_thing");
    const { gateway, audited } = await openTool([get], answer);
    const introspect = createOutputIntrospection(gateway);
    expect(await introspect(get, { config })).toBeUndefined();
    expect(await introspect(get, { config })).toBeUndefined();
    expect(audited).toHaveLength(1);
  });

  test("leaves what a server declares as it is, and calls nothing for it", async () => {
    const outputSchema = { type: "object", properties: { a: { type: "string" } } };
    const get = tool("get_thing", { outputSchema });
    const { gateway, audited } = await openTool([get], () => json({}));
    expect(await createOutputIntrospection(gateway)(get, { config })).toEqual(outputSchema);
    expect(audited).toEqual([]);
  });
});
