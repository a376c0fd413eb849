import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../core/mod.ts";
import {
  CONNECT_FAILED,
  CONNECT_TIMEOUT,
  MISSING_VARIABLE,
  NEEDS_AUTH,
  UPSTREAM_ERROR,
  UPSTREAM_PROTOCOL,
} from "../../../core/services/servers.ts";
import { discoveryError, discoveryFaults, findFault } from "../../../plugins/discovery/errors.ts";
import type { DiscoveryFault } from "../../../plugins/discovery/mod.ts";
import { faked, listIssues, remote } from "./_fixtures.ts";

const [first, second, third] = ["one", "two", "three"].map((name) =>
  remote(name, `https://${name}.example/mcp`),
) as [ReturnType<typeof remote>, ReturnType<typeof remote>, ReturnType<typeof remote>];

describe("what goes wrong costs as little as possible:", () => {
  test("a server that cannot be reached is skipped, and the others go on", async () => {
    const service = faked((config) => ({
      onOpen() {
        if (config.name === "two") throw new GatewayError(CONNECT_FAILED, "It cannot be reached.");
      },
    }));
    const heard: string[] = [];
    const statistics = await service.warmCacheForServers([first, second, third], {
      onServer: ({ config, error, done, total }) =>
        void heard.push(`${done}/${total} ${config.name} ${error?.code ?? "ok"}`),
    });
    expect(statistics).toMatchObject({ successful: 2, failed: 1, cachedTools: 2, alreadyWarm: 0 });
    expect(statistics.failures.map(({ server, error }) => [server, error.code])).toEqual([
      ["two", "CONNECT_FAILED"],
    ]);
    expect(heard).toHaveLength(3);
    expect(heard.some((line) => line.endsWith("two CONNECT_FAILED"))).toBe(true);
  });

  test("a server that limits the rate is asked again, with waits that grow", async () => {
    let tries = 0;
    const service = faked({
      onList() {
        if (++tries < 4) throw new GatewayError(UPSTREAM_ERROR, "Too often.", { data: { status: 429 } });
      },
    });
    expect(await service.discoverTools(first)).toHaveLength(1);
    expect(service.waits).toEqual([1_000, 2_000, 4_000]);
    expect(service.sessions).toEqual({ opened: 4, closed: 4 });
  });

  test("a schema that cannot be converted has the type of anything", async () => {
    const service = faked(
      { tools: [listIssues, { name: "odd", inputSchema: { odd: true }, outputSchema: { odd: true } }] },
      {
        emitType(schema) {
          if (schema["odd"]) throw new TypeError("It is odd.");
          return ":map";
        },
      },
    );
    const { tools, warnings } = await service.discoverServer(first);
    expect(tools.map(({ name, inputType, outputType }) => [name, inputType, outputType])).toEqual([
      ["list_issues", ":map", undefined],
      ["odd", ":any", ":any"],
    ]);
    expect(warnings.map(({ code }) => code)).toEqual([
      "SCHEMA_CONVERSION_FAILED",
      "SCHEMA_CONVERSION_FAILED",
    ]);
    expect(warnings[0]?.message).toBe(
      'A schema of the tool "odd" of the server "one" cannot be turned into a type; any value is taken for it.',
    );
  });

  test("an output that cannot be found out is left unknown", async () => {
    const tools = ["a", "b", "c"].map((name) => ({ ...listIssues, name }));
    const service = faked(
      { tools },
      {
        async introspectOutput({ name }) {
          if (name === "a") throw new Error("It did not work.");
          return name === "b" ? undefined : { type: "object" };
        },
      },
    );
    const found = await service.discoverTools(first, {
      introspectOutputSchemas: true,
      lazyOutputSchemas: false,
    });
    expect(found.map((tool) => [tool.name, tool.outputSchema, "outputType" in tool])).toEqual([
      ["a", undefined, false],
      ["b", undefined, false],
      ["c", { type: "object" }, true],
    ]);
  });

  test("a marketplace that takes nothing is a warning, and the tools are found all the same", async () => {
    const service = faked(
      {},
      {
        marketplace: {
          register() {
            throw new Error("It is closed.");
          },
        },
      },
    );
    const { tools, warnings } = await service.discoverServer(first, { registerInMarketplace: true });
    expect(tools).toHaveLength(1);
    expect(warnings.map(({ message }) => message)).toEqual([
      'The tools of the server "one" could not be registered.',
    ]);
  });
});

describe("each failure that the specification names has a code:", () => {
  const raised = (code: GatewayError): GatewayError => discoveryError(code, "session", "one");
  test.each<[DiscoveryFault, GatewayError]>([
    ["ConnectionFailed", raised(new GatewayError(CONNECT_FAILED, "No."))],
    ["SessionInitFailed", raised(new GatewayError(UPSTREAM_PROTOCOL, "No."))],
    ["ToolsListFailed", discoveryError(new GatewayError(UPSTREAM_ERROR, "No."), "tools", "one")],
    [
      "RateLimited",
      raised(new GatewayError(UPSTREAM_ERROR, "No.", { data: { status: 429, retryAfterMs: 5 } })),
    ],
    ["AuthenticationFailed", raised(new GatewayError(NEEDS_AUTH, "No."))],
    ["AuthenticationFailed", raised(new GatewayError(UPSTREAM_ERROR, "No.", { data: { status: 403 } }))],
    ["Timeout", raised(new GatewayError("TIMEOUT", "No."))],
    ["Timeout", raised(new GatewayError(CONNECT_TIMEOUT, "No."))],
  ])("%s", (fault, error) => {
    expect(findFault(error)).toBe(fault);
    expect(discoveryFaults[fault]).toContain(error.code);
  });

  test("what says nothing of the server stays what it is", () => {
    const error = new GatewayError(MISSING_VARIABLE, "A variable is missing.");
    expect(raised(error)).toBe(error);
    expect(findFault(error)).toBeUndefined();
  });

  test("a foreign error is kept out of the message", () => {
    const error = discoveryError(new Error("the password is hunter2"), "session", "one");
    expect(error.code).toBe("SESSION_INIT_FAILED");
    expect(JSON.stringify(error)).not.toContain("hunter2");
    expect(error.message).toContain('"one"');
  });

  test("a rate limit reports how long it lasts", () => {
    const error = new GatewayError(UPSTREAM_ERROR, "No.", { data: { status: 429, retryAfterMs: 5_000 } });
    expect(raised(error).data).toMatchObject({ retryAfterMs: 5_000, server: "one" });
  });
});
