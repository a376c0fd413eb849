import { expect, onTestFinished, test, vi } from "vitest";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { startGateway } from "./_gateway.ts";
import { everythingServer } from "./everything-server.ts";

const name = "test_input_required_result_tampered_state";

async function call(url: string, more: JsonObject): Promise<JsonObject> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": name,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: {}, _meta, ...more },
    }),
  });
  const text = await response.text();
  const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  return JSON.parse(data) as JsonObject;
}

test("a state that the server behind the gateway does not take back is an error of the protocol", async () => {
  const fixture = await everythingServer();
  onTestFinished(() => fixture.close());
  const gateway = await startGateway("passthrough", fixture.url);
  onTestFinished(() => gateway.close());
  const inputResponses = { confirm: { action: "accept", content: { ok: true } } };

  // A gateway does not wait for its servers when it starts.
  const { result } = await vi.waitFor(
    async () => {
      const answer = await call(gateway.url, {});
      expect(answer["error"]).toBeUndefined();
      return answer;
    },
    { timeout: 60_000, interval: 100 },
  );
  const requestState = isJsonObject(result) ? String(result["requestState"]) : "";
  expect(result).toMatchObject({ resultType: "input_required", inputRequests: { confirm: {} } });
  expect(await call(gateway.url, { inputResponses, requestState: `${requestState}x` })).toMatchObject({
    error: { code: -32602, message: expect.stringContaining("Invalid or expired requestState") },
  });
  expect(await call(gateway.url, { inputResponses, requestState })).toMatchObject({
    result: { content: [{ type: "text", text: "state-ok" }] },
  });
}, 120_000);
