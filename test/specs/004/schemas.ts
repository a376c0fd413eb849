import { Validator } from "@cfworker/json-schema";
import { beforeAll, expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { DiscoveredTool, DiscoveryOptions } from "../../../plugins/discovery/mod.ts";
import { getError } from "../../support/failure.ts";
import { openForAll } from "../shared.ts";
import type { Specification } from "../specification.ts";
import { githubTools, startServer, type ToolServer } from "./server.ts";
import { findService, gatewayOptions, world } from "./world.ts";

const properties: JsonObject = {
  text: { type: "string" },
  whole: { type: "integer" },
  number: { type: "number" },
  yes: { type: "boolean" },
  list: { type: "array", items: { type: "integer" } },
  anything: { type: "array" },
  map: { type: "object", properties: { inner: { type: "string" } }, required: ["inner"] },
  nothing: { type: "null" },
  nullable: { type: ["string", "null"] },
  choice: { type: "string", enum: ["open", "closed", "all"] },
};
const say = (value: unknown): JsonObject => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const tools = [
  ...githubTools,
  { name: "get_types", inputSchema: { type: "object", properties, required: Object.keys(properties) } },
  { name: "delete_issue", inputSchema: { type: "object" } },
  { name: "list_words", inputSchema: { type: "object" } },
];
const answers = {
  list_issues: say([
    { id: 1, title: "Bug", state: "open", score: 1.5, labels: ["a"], closed: false },
    { id: 2, title: "Wish", state: "open", score: 2, labels: [] },
  ]),
  get_types: say({ total: 1 }),
  list_words: { content: [{ type: "text", text: "only words" }] },
};
const introspecting: DiscoveryOptions = { introspectOutputSchemas: true, lazyOutputSchemas: false };

/** Lines 158 to 210: schemas as types, and schemas of outputs. */
export function schemaRows({ row, added, prose }: Specification): void {
  prose(158, 160, 162, 172, 174, 187, 195, 204);

  const stage = {} as { server: ToolServer; found: Readonly<Record<string, DiscoveredTool>> };
  const open = async (more: { readonly tools?: boolean } = {}) => {
    const server = await startServer({ tools, answers });
    const gateway = await openForAll(
      gatewayOptions({ mcpServers: { github: { url: server.url } }, ...more }),
    );
    const config = gateway.services.servers?.status("github")?.config ?? world.config;
    return { server, gateway, config, service: findService(gateway) };
  };
  const typeOf = (name: string): string | undefined => {
    const entries = stage.found["get_types"]?.inputType.slice("[:map".length, -1).split(/\n {2}(?=\[)/);
    const own = entries?.find((entry) => entry.startsWith(`[:${name} `));
    return own?.slice(`[:${name} `.length, -1);
  };

  beforeAll(async () => {
    const { server, service, config } = await open();
    const all = await service.discoverTools(config, introspecting);
    Object.assign(stage, { server, found: Object.fromEntries(all.map((tool) => [tool.name, tool])) });
  });

  row("164", "A string is :string.", () => expect(typeOf("text")).toBe(":string"));
  row("165", "An integer is :int, and a number :float.", () => {
    expect([typeOf("whole"), typeOf("number")]).toEqual([":int", ":float"]);
  });
  row("166", "A boolean is :bool.", () => expect(typeOf("yes")).toBe(":bool"));
  row("167", "An array is a vector of the type of its items; without items, of anything.", () => {
    expect([typeOf("list"), typeOf("anything")]).toEqual(["[:vector :int]", "[:vector :any]"]);
  });
  row("168", "An object is a map of its properties.", () => {
    expect(typeOf("map")).toBe("[:map\n    [:inner :string]]");
  });
  row("169", "Null, and what may be null, is :any; the schema still tells what else it may be.", () => {
    expect([typeOf("nothing"), typeOf("nullable")]).toEqual([":any", ":any"]);
    const tool = stage.found["get_types"] ?? { name: "", inputSchema: {} };
    const { inputSchema } = world.service.toolToManifest(tool, world.config);
    expect(inputSchema["properties"]).toMatchObject({ nullable: { type: ["string", "null"] } });
  });
  row("170", "A choice of strings is :string, and a call with another value is refused.", async () => {
    expect(typeOf("choice")).toBe(":string");
    const { gateway, server } = await open();
    const args = { owner: "a", repo: "b", state: "half-open" };
    const settled = await gateway.run({ tool: "github:list_issues", args });
    expect(getError(settled)).toMatchObject({ code: "INVALID_ARGUMENTS" });
    expect(getError(settled).message).toContain("state");
    expect(server.count("tools/call")).toBe(0);
  });

  row("176-184, 189-192", "The schema of the example becomes the type of the example, to the letter.", () => {
    expect(stage.found["list_issues"]?.inputSchema).toEqual({
      type: "object",
      properties: {
        owner: { type: "string" },
        repo: { type: "string" },
        state: { type: "string", enum: ["open", "closed", "all"] },
      },
      required: ["owner", "repo"],
    });
    expect(stage.found["list_issues"]?.inputType).toBe(`[:map
  [:owner :string]
  [:repo :string]
  [:state {:optional true} :string]]`);
  });

  row("197", "A tool without an output schema gets the one that its answer shows.", () => {
    expect(tools.every((tool) => !("outputSchema" in tool))).toBe(true);
    expect(stage.found["get_types"]?.outputSchema).toEqual({
      type: "object",
      properties: { total: { type: "integer" } },
      required: ["total"],
    });
  });
  row("199", "The arguments of the call are made from the input schema, and fit it.", () => {
    const calls = stage.server.asked.filter(({ method }) => method === "tools/call");
    expect(calls.length).toBeGreaterThan(0);
    for (const { params } of calls) {
      const schema = tools.find(({ name }) => name === params["name"])?.inputSchema;
      const validator = new Validator((schema ?? false) as ConstructorParameters<typeof Validator>[0]);
      expect([params["name"], validator.validate(params["arguments"]).valid]).toEqual([params["name"], true]);
    }
  });
  row("200", "Each tool is called once, also if its server is discovered again.", async () => {
    const { server, service, config } = await open();
    for (const _ of ["first", "second"]) await service.discoverTools(config, introspecting);
    const called = server.asked.flatMap(({ method, params }) =>
      method === "tools/call" ? [params["name"]] : [],
    );
    expect(called.filter((name) => name === "list_issues")).toHaveLength(1);
    expect(new Set(called).size).toBe(called.length);
  });
  added(
    "199-200",
    "No tool is called that may change something, and none of a server that is not approved.",
    "A call is never free of side effects because it is only meant to look.",
    async () => {
      const called = stage.server.asked.flatMap(({ params }) => params["name"] ?? []);
      expect(called).toContain("list_issues");
      expect(called).not.toContain("create_issue");
      expect(called).not.toContain("delete_issue");
      const stranger = await startServer({ tools, answers });
      const connection = { type: "http", url: stranger.url, headers: {} } as const;
      const config = { ...world.config, name: "stranger-outputs", connection };
      const found = await world.service.discoverTools(config, introspecting);
      expect([found.length, stranger.count("tools/call")]).toEqual([tools.length, 0]);
    },
  );
  row("201", "Types are inferred from the values of the answer, over all elements of a list.", () => {
    expect(stage.found["list_issues"]?.outputType).toBe(`[:vector [:map
  [:id :int]
  [:title :string]
  [:state :string]
  [:score :float]
  [:labels [:vector :string]]
  [:closed {:optional true} :bool]]]`);
    expect(stage.found["list_words"]?.outputSchema).toBeUndefined();
  });
  row("202", "The manifest of the tool has the inferred schema.", () => {
    const tool = stage.found["list_issues"] ?? { name: "", inputSchema: {} };
    const { outputSchema } = world.service.toolToManifest(tool, world.config);
    expect(outputSchema).toMatchObject({ type: "array", items: { properties: { id: { type: "integer" } } } });
  });
  row("206-210", "It happens where it is asked for and not put off, and only then.", async () => {
    const { server, service, config } = await open();
    const rows: DiscoveryOptions[] = [
      {},
      { introspectOutputSchemas: true },
      { lazyOutputSchemas: false },
      introspecting,
    ];
    const counts: number[] = [];
    for (const options of rows) {
      await service.discoverTools(config, options);
      counts.push(server.count("tools/call"));
    }
    expect(counts.slice(0, 3)).toEqual([0, 0, 0]);
    expect(counts[3]).toBeGreaterThan(0);
  });
}
