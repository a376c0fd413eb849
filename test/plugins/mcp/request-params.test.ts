import { expect, test } from "vitest";
import { completeParams, createLogLevel } from "../../../plugins/mcp/request-params.ts";

test("a server of the legacy protocol is set to the level of the most curious client", async () => {
  const sent: string[] = [];
  const atLeast = createLogLevel(async (level) => void sent.push(level));
  for (const level of ["warning", "error", "info", "warning", "debug", "info", "loud", undefined]) {
    await atLeast(level);
  }
  expect(sent).toEqual(["warning", "info", "debug"]);
});

test("that a level cannot be set costs nothing, and it is tried again", async () => {
  let tries = 0;
  const atLeast = createLogLevel(async () => {
    tries++;
    throw new Error("no");
  });
  await atLeast("info");
  await atLeast("info");
  expect(tries).toBe(2);
});

test("with a request to a server of the modern protocol goes what its client can do and wants to hear", () => {
  const client = {
    protocol: "legacy" as const,
    capabilities: { roots: { listChanged: true }, experimental: {}, elicitation: { form: {} } },
    can: () => true,
    ask: async () => ({}),
    notify: () => {},
  };
  const meta = { progressToken: 1, "io.modelcontextprotocol/clientInfo": { name: "x" }, traceparent: "t" };
  expect(
    completeParams({ name: "a" }, { client, meta, input: { responses: { q: {} }, state: "s" } }, true),
  ).toEqual({
    name: "a",
    _meta: {
      traceparent: "t",
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} }, roots: {} },
      "io.modelcontextprotocol/logLevel": "info",
    },
    inputResponses: { q: {} },
    requestState: "s",
  });
  expect(completeParams({ name: "a" }, { meta, input: { state: "s" } }, false)).toEqual({
    name: "a",
    _meta: { traceparent: "t" },
  });
});
