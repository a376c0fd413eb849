import { describe, expect, expectTypeOf, test, vi } from "vitest";
import {
  createGateway,
  type Gateway,
  GatewayError,
  localTools,
  type Plugin,
  type ToolResult,
  textResult,
} from "../../core/mod.ts";
import { plugin, throwableNames, throwables } from "../support/hooks.ts";

const object = { type: "object" };

describe("localTools", () => {
  test("its tools are in the catalog without their functions, and answer calls", async () => {
    const gateway = await createGateway({
      plugins: [
        localTools("maths", { id: "maths", title: "Maths" }, [
          {
            name: "add",
            description: "Adds.",
            inputSchema: object,
            run: ({ a, b }) => textResult(`${Number(a) + Number(b)}`),
          },
          { name: "later", inputSchema: object, run: async () => textResult("later") },
        ]),
      ],
    });
    expect(gateway.catalog.server("maths")).toMatchObject({ id: "maths", title: "Maths" });
    expect(gateway.catalog.tool("maths:add")).toMatchObject({ description: "Adds.", inputSchema: object });
    expect(gateway.catalog.tool("maths:add")).not.toHaveProperty("run");
    expect((await gateway.run({ tool: "maths:add", args: { a: 1, b: 2 } })).result).toEqual(textResult("3"));
    expect((await gateway.run({ tool: "maths:later" })).result).toEqual(textResult("later"));
  });

  test("it leaves the tools of other servers to others, also those of the same name", async () => {
    const one = localTools("one", { id: "one" }, [
      { name: "t", inputSchema: {}, run: () => textResult("one") },
    ]);
    const two = localTools("two", { id: "two" }, [
      { name: "t", inputSchema: {}, run: () => textResult("two") },
    ]);
    const gateway = await createGateway({ plugins: [one, two] });
    expect((await gateway.run({ tool: "one:t" })).result).toEqual(textResult("one"));
    expect((await gateway.run({ tool: "two:t" })).result).toEqual(textResult("two"));
  });

  test("a tool has its call and the gateway at hand", async () => {
    const run = vi.fn(() => textResult("x"));
    const gateway = await createGateway({
      plugins: [localTools("l", { id: "l" }, [{ name: "t", inputSchema: {}, run }])],
    });
    const settled = await gateway.run({ tool: "l:t", args: { a: 1 } });
    expect(run.mock.calls).toMatchObject([[{ a: 1 }, { call: { id: settled.id } }]]);
    const [, context] = run.mock.lastCall as unknown as [unknown, { gateway: Gateway }];
    expect(context.gateway.catalog).toBe(gateway.catalog);
    expect(context.gateway.services).toBe(gateway.services);
  });

  test("whatever a tool throws, at once or later, ends the call and blames the plugin", async () => {
    for (const name of throwableNames) {
      for (const later of [false, true]) {
        const value = throwables[name]();
        const run = (): Promise<ToolResult> => {
          if (later) return Promise.reject(value);
          throw value;
        };
        const gateway = await createGateway({
          plugins: [localTools("l", { id: "l" }, [{ name: "t", inputSchema: {}, run }])],
        });
        const { error } = await gateway.run({ tool: "l:t" });
        if (GatewayError.is(value)) expect(error).toBe(value);
        else expect(error).toMatchObject({ code: "INTERNAL", data: { plugin: "l", hook: "execute" } });
        expect(JSON.stringify(error)).not.toContain("secret");
      }
    }
  });

  test("a tool that answers nothing leaves the call unanswered", async () => {
    const run = (): ToolResult => undefined as unknown as ToolResult;
    const gateway = await createGateway({
      plugins: [localTools("l", { id: "l" }, [{ name: "t", inputSchema: {}, run }])],
    });
    expect((await gateway.run({ tool: "l:t" })).error?.code).toBe("UNANSWERED");
  });

  test("every plugin can enrich its tools, wherever it stands", async () => {
    const tag = (name: string): Plugin =>
      plugin(name, { "tool:discover": (tool) => void tool.tags.push(name) });
    const local = localTools("l", { id: "l" }, [{ name: "t", inputSchema: {}, run: () => textResult("x") }]);
    const gateway = await createGateway({ plugins: [tag("before"), local, tag("after")] });
    expect(gateway.catalog.tool("l:t")?.tags).toEqual(["before", "after"]);
  });

  test("plugins that wrap `next` stand around it, wherever they are listed", async () => {
    const wrap = plugin("wrap", {
      async execute(call, next) {
        await next();
        call.via = "wrap";
      },
    });
    const local = localTools("l", { id: "l" }, [{ name: "t", inputSchema: {}, run: () => textResult("x") }]);
    const gateway = await createGateway({ plugins: [local, wrap] });
    expect((await gateway.run({ tool: "l:t" })).via).toBe("wrap");
  });

  test("its name is part of its type", () => {
    const local = localTools("l", { id: "l" }, []);
    expectTypeOf(local.name).toEqualTypeOf<"l">();
    expect(local.configure).toBeUndefined();
  });

  test("of two tools of a name the one that is listed runs", async () => {
    const gateway = await createGateway({
      plugins: [
        localTools("l", { id: "l" }, [
          { name: "t", description: "first", inputSchema: {}, run: () => textResult("first") },
          { name: "t", description: "second", inputSchema: {}, run: () => textResult("second") },
        ]),
      ],
    });
    const { description } = gateway.catalog.tool("l:t") ?? {};
    expect((await gateway.run({ tool: "l:t" })).result).toEqual(textResult(String(description)));
  });

  test("a tool that cannot be listed is reported", async () => {
    const report = vi.fn();
    const wrong = {
      name: "t",
      inputSchema: [] as unknown as Record<string, unknown>,
      run: () => textResult("x"),
    };
    await createGateway({
      plugins: [plugin("watch", { error: report }), localTools("l", { id: "l" }, [wrong])],
    }).catch(report);
    expect(report).toHaveBeenCalledTimes(1);
  });

  test("a tool may answer with a thenable", async () => {
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
    const lazy = { then: (resolve: (result: ToolResult) => void) => resolve(textResult("lazy")) };
    const run = (): Promise<ToolResult> => lazy as unknown as Promise<ToolResult>;
    const gateway = await createGateway({
      plugins: [localTools("l", { id: "l" }, [{ name: "t", inputSchema: {}, run }])],
    });
    expect((await gateway.run({ tool: "l:t" })).result).toEqual(textResult("lazy"));
  });
});
