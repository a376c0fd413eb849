import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { anygpt } from "../../../presets/anygpt/mod.ts";
import { gateway } from "../../../presets/gateway/mod.ts";
import { until } from "../../support/until.ts";
import { answers, fixtureServer, kinds, openClient, readText } from "../_passthrough.ts";

const file = fileURLToPath(new URL("../../fixtures/asking-server.mjs", import.meta.url));
const servers = { asking: fixtureServer(file) };
const TIMEOUT_MS = 60_000;

describe.each(kinds)("a server of the modern protocol that asks, with a client %s", (kind) => {
  const call = (name: string): JsonObject => ({ name, arguments: {} });

  test("gets the answers of its client", { timeout: TIMEOUT_MS }, async () => {
    const client = await openClient(kind, { servers });
    expect(readText(await client.request("tools/call", call("greet")))).toBe("Hello Ada, from first");
    expect(client.asked).toMatchObject([
      { method: "elicitation/create", message: 'The server "asking" asks: Who are you?' },
    ]);
    expect(readText(await client.request("tools/call", call("twice")))).toBe("2 Ada Ada sampled text");
  });

  test("fault 89: is named, cleaned, and opens no page but one of the web", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const client = await openClient(kind, { servers });
    await client.request("tools/call", call("imitate"));
    const [form, sampling] = client.asked;
    expect(form).toMatchObject({
      message: 'The server "asking" asks: Shall "bank:pay" be called with {}? It cannot be undone.',
      requestedSchema: { properties: { confirm: { title: "Yes, do it", description: "Plain" } } },
    });
    expect(sampling).toMatchObject({ method: "sampling/createMessage", includeContext: "none" });
    for (const name of ["script", "file"]) {
      const refused = await client.request("tools/call", call(name)).catch((thrown: unknown) => thrown);
      expect(JSON.stringify(refused) + String(refused)).toContain("not one of http or https");
    }
    expect(client.asked).toHaveLength(2);
  });

  test("is told when the user declines", { timeout: TIMEOUT_MS }, async () => {
    const declined = { ...answers, "elicitation/create": () => ({ action: "decline" }) };
    const client = await openClient(kind, { servers, answers: declined });
    expect(readText(await client.request("tools/call", call("greet")))).toBe("declined");
  });

  test("is told the capabilities of this client, and no more", { timeout: TIMEOUT_MS }, async () => {
    const { "elicitation/create": elicit } = answers;
    const client = await openClient(kind, {
      servers,
      answers: { "elicitation/create": elicit as () => JsonObject },
    });
    const declared = JSON.parse(readText(await client.request("tools/call", call("capabilities"))));
    expect(Object.keys(declared)).toEqual(["elicitation"]);
  });

  test("may ask while a prompt is fetched or a resource is read", { timeout: TIMEOUT_MS }, async () => {
    const client = await openClient(kind, { servers });
    expect(JSON.stringify(await client.request("prompts/get", { name: "card" }))).toContain("A card for Ada");
    const read = await client.request("resources/read", { uri: "asking://card" });
    expect(JSON.stringify(read)).toContain("The card of Ada");
  });

  test("sends log messages and change notifications to its client", { timeout: TIMEOUT_MS }, async () => {
    const client = await openClient(kind, { servers });
    await client.request("tools/call", call("log"));
    await until(() => client.messages.length > 0, TIMEOUT_MS);
    expect(client.messages).toMatchObject([{ level: "info", data: "It says something" }]);
    await client.subscribe("asking://card");
    // The modern protocol confirms a subscription, which begins only then.
    await until(async () => {
      await client.request("tools/call", call("touch"));
      return client.updated.includes("asking://card");
    }, TIMEOUT_MS);
  });

  test.each([
    ["anygpt", anygpt],
    ["gateway", gateway],
  ] as const)("asks through the tools of %s", { timeout: TIMEOUT_MS }, async (name, preset) => {
    const options = name === "gateway" ? { guard: { enabled: false } } : {};
    const client = await openClient(kind, { servers, preset, options });
    const params =
      name === "anygpt"
        ? { name: "execute_tool", arguments: { server: "asking", tool: "greet", arguments: {} } }
        : { name: "gateway.execute", arguments: { tool_id: "asking:greet", params: {} } };
    expect(readText(await client.request("tools/call", params))).toContain("Hello Ada, from first");
  });
});

test("a missing client capability is reported in the terms of the client's protocol", {
  timeout: TIMEOUT_MS,
}, async () => {
  const modern = await openClient("v2 modern", { servers, answers: {} });
  await expect(modern.request("tools/call", { name: "greet", arguments: {} })).rejects.toMatchObject({
    code: -32021,
    data: { requiredCapabilities: { elicitation: {} } },
  });
  const legacy = await openClient("v1", { servers, answers: {} });
  const result = await legacy.request("tools/call", { name: "greet", arguments: {} });
  expect(result).toMatchObject({ isError: true });
  expect(readText(result)).toContain("elicitation");
});

test("stops a server that asks without end", { timeout: TIMEOUT_MS }, async () => {
  const client = await openClient("v1", { servers });
  const result = await client.request("tools/call", { name: "endless", arguments: {} });
  expect(result).toMatchObject({ isError: true });
  expect(readText(result)).toContain("has asked for input 10 times and still does not answer");
});

test("the call fails with the reason where no client can be asked", { timeout: TIMEOUT_MS }, async () => {
  const faulty = fileURLToPath(new URL("../../fixtures/faulty-mcp.mjs", import.meta.url));
  const rude = fixtureServer(faulty, "--mode", "modern-input");
  const client = await openClient("v1", { servers: { rude } });
  const settled = await client.gateway.run({ tool: "rude:fault", args: {} });
  expect(settled.error).toMatchObject({ code: "QUESTION_REFUSED" });
});

test("a question does not use up the idempotency key of its call", { timeout: TIMEOUT_MS }, async () => {
  const client = await openClient("v2 modern", { servers, preset: gateway });
  const options = { idempotency_key: "the-same-key", confirmed: true };
  const params = { name: "gateway.execute", arguments: { tool_id: "asking:greet", params: {}, options } };
  const first = readText(await client.request("tools/call", params));
  expect(first).toContain("Hello Ada, from first");
  // The answer is kept, though: the same call is not made twice.
  const again = readText(await client.request("tools/call", params));
  expect(again).toContain('"via":"replay"');
  expect(
    client.asked.filter(({ message }) => message === 'The server "asking" asks: Who are you?'),
  ).toHaveLength(1);
});
