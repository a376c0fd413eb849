import { MCPDiscoveryError, MCPDiscoveryService } from "toolpipe/anygpt";
import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { DiscoveryOptions } from "../../../plugins/discovery/mod.ts";
import { openGateway } from "../../support/open-gateway.ts";
import type { ToldTool } from "../shared.ts";
import type { Specification } from "../specification.ts";
import { type Gate, githubTools, startServer, type ToolServer } from "./server.ts";
import { findService, gatewayOptions, hurriedService, remote, world } from "./world.ts";

/** Answers every request of a method so. */
const answering =
  (method: string | undefined, verdict: Awaited<ReturnType<Gate>>): Gate =>
  (asked) =>
    method === undefined || asked.method === method ? verdict : undefined;

/** Discovers a server, and returns the error. */
async function fail(server: Pick<ToolServer, "url">, limits: JsonObject = {}): Promise<MCPDiscoveryError> {
  const service = new MCPDiscoveryService({ gateway: world.gateway });
  const config = { ...remote("failing", server.url), ...limits };
  const thrown = await service.discoverTools(config, { retryPolicy: { maxRetries: 0 } }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (thrown instanceof MCPDiscoveryError) return thrown;
  throw new Error("An MCPDiscoveryError was expected.", { cause: thrown });
}

const odd: readonly ToldTool[] = [
  ...githubTools,
  { name: "get_odd", inputSchema: "nonsense" as unknown as JsonObject },
  { name: "get_strange", outputSchema: { type: "strange" } },
];

/** Lines 527 to 548: errors. */
export function errorRows({ row, added, prose }: Specification): void {
  prose(527, 529, 532, 540, 543);

  row("533", "A server that cannot be reached is ConnectionFailed, and the message says where.", async () => {
    const server = await startServer();
    await server.close();
    const error = await fail(server);
    expect([error.kind, error.code]).toEqual(["ConnectionFailed", "CONNECT_FAILED"]);
    expect(error.message).toContain(new URL(server.url).host);
  });
  row("534", "A server with which no session can be opened is SessionInitFailed.", async () => {
    const error = await fail(await startServer({ gate: answering(undefined, 500) }));
    expect([error.kind, error.message]).toEqual(["SessionInitFailed", expect.stringContaining('"failing"')]);
  });
  row("535", "A server that does not list its tools is ToolsListFailed.", async () => {
    const error = await fail(await startServer({ gate: answering("tools/list", 500) }));
    expect([error.kind, error.message]).toEqual(["ToolsListFailed", expect.stringContaining('"failing"')]);
  });
  row(
    "536",
    "A schema that cannot be converted is SchemaConversionFailed, which names the tool.",
    async () => {
      const server = await startServer({ tools: odd });
      const { warnings } = await world.service.discoverServer(remote("odd", server.url));
      const errors = warnings.map((warning) => new MCPDiscoveryError(warning));
      expect(errors.map(({ kind }) => kind)).toEqual(["SchemaConversionFailed", "SchemaConversionFailed"]);
      expect(errors.map(({ message }) => message).toSorted()).toEqual([
        expect.stringContaining('"get_odd"'),
        expect.stringContaining('"get_strange"'),
      ]);
    },
  );
  row(
    "537",
    "A server that was asked too often is RateLimited, with the time until it may be asked.",
    async () => {
      const error = await fail(
        await startServer({ gate: answering("tools/list", [429, { "retry-after": "90" }]) }),
      );
      expect([error.kind, error.retryAfterMs]).toEqual(["RateLimited", 90_000]);
    },
  );
  row("538", "A server that refuses the credentials is AuthenticationFailed.", async () => {
    for (const status of [401, 403]) {
      const error = await fail(await startServer({ gate: answering(undefined, status) }));
      expect([status, error.kind]).toEqual([status, "AuthenticationFailed"]);
    }
  });
  row(
    "539",
    "A server that does not answer in time is Timeout, at its start and when it lists.",
    async () => {
      for (const method of ["initialize", "tools/list"]) {
        const error = await fail(await startServer({ gate: answering(method, "never") }), {
          startTimeoutMs: 600,
        });
        expect([method, error.kind]).toEqual([method, "Timeout"]);
        expect(error.message).toContain("600 ms");
      }
    },
  );
  added(
    "539",
    "The time limits of a server's definition hold for its list of tools too.",
    "A list that takes half a minute is no use to a caller who has set a limit of a second.",
    async () => {
      for (const limits of [{ startTimeoutMs: 400 }, { callTimeoutMs: 400 }]) {
        const server = await startServer({ gate: answering("tools/list", "never") });
        const start = performance.now();
        expect((await fail(server, limits)).kind).toBe("Timeout");
        // Far from the half minute that is the default.
        expect(performance.now() - start).toBeLessThan(15_000);
      }
    },
  );

  row("545", "A server that cannot be reached is skipped, and the others are discovered.", async () => {
    const gone = await startServer();
    await gone.close();
    const configs = [remote("gone", gone.url), remote("there", world.github.url)];
    const stats = await world.service.warmCacheForServers(configs);
    expect(stats).toMatchObject({ successful: 1, failed: 1, cachedTools: 3 });
    expect(stats.failures.map(({ server, error }) => [server, error.code])).toEqual([
      ["gone", "CONNECT_FAILED"],
    ]);
  });
  row("546", "A server that limits the rate is asked again, with waits that double.", async () => {
    let left = 3;
    const gate: Gate = ({ method }) => (method === "tools/list" && left-- > 0 ? 429 : undefined);
    const server = await startServer({ gate });
    const { service, waits } = hurriedService();
    const rateLimit = { requestsPerSecond: 1_000_000, burstSize: 1_000 };
    expect(await service.discoverTools(remote("busy", server.url), { rateLimit })).toHaveLength(3);
    expect(waits).toEqual([1_000, 2_000, 4_000]);
  });
  row("547, 559", "A tool whose schema cannot be converted has the type :any, and stays.", async () => {
    const server = await startServer({ tools: odd });
    const tools = await world.service.discoverTools(remote("odd-too", server.url));
    const found = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
    expect(Object.keys(found)).toHaveLength(odd.length);
    expect(found["get_odd"]?.inputType).toBe(":any");
    expect(found["get_strange"]?.outputType).toBe(":any");
    expect(found["list_issues"]?.inputType).toMatch(/^\[:map/);
  });
  row("548", "An output that cannot be found out leaves the tool without an output schema.", async () => {
    const tools = ["get_words", "get_failure", "get_data"].map((name) => ({ name }));
    const text = (words: string): JsonObject => ({ content: [{ type: "text", text: words }] });
    const answers = {
      get_words: text("only words"),
      get_failure: { ...text('{"a":1}'), isError: true },
      get_data: text('{"a":1}'),
    };
    const server = await startServer({ tools, answers });
    const gateway = await openGateway(gatewayOptions({ mcpServers: { outputs: { url: server.url } } }));
    const config = gateway.services.servers?.status("outputs")?.config ?? world.config;
    const options: DiscoveryOptions = { introspectOutputSchemas: true, lazyOutputSchemas: false };
    const { tools: found, warnings } = await findService(gateway).discoverServer(config, options);
    expect(server.count("tools/call")).toBe(3);
    expect(found.map(({ name, outputSchema }) => [name, outputSchema?.["type"]])).toEqual([
      ["get_words", undefined],
      ["get_failure", undefined],
      ["get_data", "object"],
    ]);
    expect(warnings).toEqual([]);
  });
}
