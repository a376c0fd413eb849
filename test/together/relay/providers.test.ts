import { describe, expect, test } from "vitest";
import { type JsonObject, localUser } from "../../../core/mod.ts";
import { guard } from "../../../plugins/guard/mod.ts";
import { rates } from "../../../plugins/rates.ts";
import { retry } from "../../../plugins/retry/mod.ts";
import { answers, kinds } from "../../presets/_passthrough.ts";
import { until } from "../../support/until.ts";
import { openReader, shelf, TIMEOUT_MS } from "./_shelf.ts";

const contents = [
  {
    uri: "shelf://book",
    mimeType: "application/octet-stream",
    blob: "AAEC/w==",
    _meta: { shelf: 1 },
  },
  { uri: "shelf://book#2", text: "two\u0000", "x-own": [null, 1.5] },
];

const rules = (...toolRules: JsonObject[]): { options: { rules: JsonObject } } => ({
  options: { rules: { toolRules } },
});

describe.each(kinds)("for a client %s", { timeout: TIMEOUT_MS }, (kind) => {
  test("resources, prompts and completions arrive unchanged", async () => {
    const client = await openReader(kind);
    expect(await client.read()).toMatchObject({
      contents,
      _meta: { "shelf/edition": { year: 1815 } },
      "x-extra": { kept: true },
    });
    expect(await client.get()).toMatchObject({
      description: "review",
      messages: [{ role: "user", content: { type: "text", text: '{"book":"Emma"}' } }],
      _meta: { shelf: 2 },
    });
    expect(await client.complete()).toMatchObject({ completion: { values: ["Emma"], total: 1 } });
  });

  test("each is recorded as a call, with its parameters only as a hash", async () => {
    const client = await openReader(kind);
    await client.read();
    await client.read();
    await client.get();
    await client.complete();
    const records = client.sink.records.map(
      ({ event, tool_id, outcome }) => `${event} ${tool_id} ${outcome}`,
    );
    const both = (id: string): string[] => [`intent ${id} pending`, `outcome ${id} ok`];
    expect(records).toEqual([
      ...both("shelf:resources/read"),
      ...both("shelf:resources/read"),
      ...both("shelf:prompts/get"),
      ...both("shelf:completion/complete"),
    ]);
    expect(JSON.stringify(client.sink.records)).not.toMatch(/shelf:\/\/|review|Emma/);
    const [first, , second] = client.sink.records;
    expect(first?.params_hash).toBe(second?.params_hash);
  });

  test("refuses a request that a rule denies with its code and a message, and never sends it", async () => {
    const client = await openReader(kind, rules({ pattern: ["*/*"], server: "shelf", enabled: false }));
    const disabled = (id: string): object => ({
      data: { code: "TOOL_DISABLED" },
      message: expect.stringContaining(`"${id}" is disabled. Rule 1 (*/*) disables it.`),
    });
    await expect(client.read()).rejects.toMatchObject(disabled("shelf:resources/read"));
    await expect(client.read("shelf://page/7")).rejects.toMatchObject(disabled("shelf:resources/read"));
    await expect(client.get()).rejects.toMatchObject(disabled("shelf:prompts/get"));
    await expect(client.complete()).rejects.toMatchObject(disabled("shelf:completion/complete"));
    expect(await client.heard()).toEqual([]);
    expect(client.sink.records.slice(0, 4)).toMatchObject([
      { event: "denial", tool_id: "shelf:resources/read", outcome: "TOOL_DISABLED", stage: "policy" },
      { event: "denial", tool_id: "shelf:resources/read" },
      { event: "denial", tool_id: "shelf:prompts/get" },
      { event: "denial", tool_id: "shelf:completion/complete" },
    ]);
  });

  test("a slow request times out like a call", async () => {
    const client = await openReader(kind, {
      options: { timeout: { ms: 60_000, tools: { "shelf:resources/read": 300 } } },
    });
    await expect(client.read("shelf://page/lost")).rejects.toMatchObject({
      message: expect.stringContaining("300 ms"),
    });
    await until(async () => (await client.heard()).includes("notifications/cancelled"), TIMEOUT_MS);
    expect(client.sink.records.at(1)).toMatchObject({ event: "outcome", outcome: "TIMEOUT" });
  });

  test("a user is asked where the guard is told to", async () => {
    const operations = { "shelf:resources/read": { confirmation_required: true } };
    const yes = { "elicitation/create": () => ({ action: "accept", content: { confirm: true } }) };
    const client = await openReader(kind, {
      plugins: [guard({ operations })],
      answers: { ...answers, ...yes },
    });
    expect(await client.read()).toMatchObject({ contents });
    expect(client.asked).toMatchObject([{ message: expect.stringContaining("shelf:resources/read") }]);
  });
});

describe("one client is enough to see that", { timeout: TIMEOUT_MS }, () => {
  test("a rule for a server denies all of it, and a list that allows tools allows only what it names", async () => {
    const denied = await openReader("v1", rules({ pattern: ["*"], server: "shelf", enabled: false }));
    await expect(denied.read()).rejects.toMatchObject({ data: { code: "TOOL_DISABLED" } });
    await expect(denied.get()).rejects.toMatchObject({ data: { code: "TOOL_DISABLED" } });
    const allowed = await openReader(
      "v1",
      rules({ pattern: ["list_asked", "resources/read"], enabled: true }),
    );
    expect(await allowed.read()).toMatchObject({ contents });
    await expect(allowed.get()).rejects.toMatchObject({ data: { code: "TOOL_DISABLED" } });
  });

  test("a forbidden resource is in no list, and another server's of the same URI is", async () => {
    const twin = await openReader("v1", {
      servers: { shelf, twin: shelf },
      ...rules({ pattern: ["resources/*", "prompts/*"], server: "shelf", enabled: false }),
    });
    expect(await twin.request("resources/list")).toMatchObject({ resources: [{ uri: "shelf://book" }] });
    expect(await twin.request("prompts/list")).toMatchObject({ prompts: [{ name: "twin__review" }] });
    expect(await twin.read()).toMatchObject({ contents });
    expect(twin.sink.records[0]).toMatchObject({ tool_id: "twin:resources/read" });
    const alone = await openReader("v1", rules({ pattern: ["resources/*"], enabled: false }));
    expect(await alone.request("resources/list")).toMatchObject({ resources: [] });
    expect(await alone.request("resources/templates/list")).toMatchObject({ resourceTemplates: [] });
    expect(await alone.request("prompts/list")).toMatchObject({ prompts: [{ name: "review" }] });
  });

  test("a caller who may not read a resource cannot subscribe to it", async () => {
    const client = await openReader("v1", rules({ pattern: ["resources/read"], enabled: false }));
    await expect(client.subscribe("shelf://book")).rejects.toMatchObject({
      message: expect.stringContaining("Rule 1 (resources/read) disables it."),
    });
    expect(await client.heard()).toEqual([]);
  });

  test("a rule for such a request is no rule that matches nothing", async () => {
    const client = await openReader(
      "v1",
      rules({ pattern: ["prompts/get"], enabled: false }, { pattern: ["prompts/gte"], enabled: false }),
    );
    const reports = (await client.gateway.services.rules?.diagnose()) ?? [];
    expect(reports.flatMap(({ rule, fault }) => (fault === "unmatched" ? [rule] : []))).toEqual([2]);
  });

  test("nothing of the kind can be called by its name, or is in the catalog", async () => {
    const { gateway } = await openReader("v1");
    const settled = await gateway.run({ tool: "shelf:resources/read", args: { uri: "shelf://book" } });
    expect(settled.error).toMatchObject({ code: "TOOL_NOT_FOUND" });
    expect(gateway.catalog.tools().map(({ name }) => name)).toEqual(["list_asked"]);
  });

  test("rate limits count requests", async () => {
    const limits = { shelf_low_risk: { limit: 2, perMs: 3_600_000 } };
    const client = await openReader("v1", { plugins: [rates({ limits })] });
    await client.read();
    await client.get();
    await expect(client.read()).rejects.toMatchObject({
      message: expect.stringContaining('"shelf:resources/read" was called too often'),
    });
  });

  test("the guard asks for the scopes that it is told to ask for, and for none by itself", async () => {
    const operations = { "shelf:resources/*": { required_scopes: ["library"] } };
    const client = await openReader("v1", { plugins: [guard({ operations, scopes: {} })] });
    await client.get();
    await client.complete();
    await expect(client.read()).rejects.toMatchObject({
      message: expect.stringContaining('needs "library"'),
    });
  });

  test("no approval is needed for such a request, also where every new tool has to be", async () => {
    const client = await openReader("v1", { plugins: [guard()], options: { pins: { firstUse: "ask" } } });
    expect(await client.read()).toMatchObject({ contents });
  });

  test("a dry run asks for nothing", async () => {
    const client = await openReader("v1", { plugins: [guard()] });
    const params = { uri: "shelf://book", _meta: { "toolpipe/dry-run": true } };
    await expect(client.request("resources/read", params)).rejects.toMatchObject({
      message: expect.stringContaining("this is a dry run"),
    });
    expect(await client.heard()).toEqual([]);
  });

  test("where there is too much to do, it waits its turn or is refused like a call", async () => {
    const options = { overload: { local: true, maxConcurrent: 1, maxWaiting: 0, maxLagMs: 600_000 } };
    const client = await openReader("v1", { options });
    const stuck = client.read("shelf://page/lost").catch(() => {});
    await until(() => client.sink.records.length > 0, TIMEOUT_MS);
    await expect(client.read()).rejects.toMatchObject({ message: expect.stringContaining("overloaded") });
    await client.stop();
    await stuck;
  });

  test("a cancelled read ends at once, and its server is notified", async () => {
    const client = await openReader("v1", { plugins: [retry()] });
    const giveUp = new AbortController();
    const resources = client.gateway.drivers("resources").get("relay");
    const reading = resources?.read("shelf://page/lost", { actor: localUser, signal: giveUp.signal });
    await until(() => client.sink.records.length > 0, TIMEOUT_MS);
    giveUp.abort();
    await expect(reading).rejects.toMatchObject({ code: "CANCELLED" });
    await until(async () => (await client.heard()).includes("notifications/cancelled"), TIMEOUT_MS);
  });
});
