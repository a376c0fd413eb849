import { expect, test } from "vitest";
import { Cancellation, type JsonObject } from "../../../core/mod.ts";
import type { Client } from "../../../core/services/clients.ts";
import type { StdioUpstream } from "../../../plugins/mcp/stdio/connect.ts";
import { faulty, readText } from "../../support/stdio-servers.ts";
import { until } from "../../support/until.ts";
import { connected } from "./_stdio.ts";

const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** A client of the legacy protocol that answers everything it is asked, and notes it. */
function clientThat(answer: (signal: AbortSignal | undefined) => Promise<JsonObject>, session: object = {}) {
  const asked: string[] = [];
  const client: Client = {
    protocol: "legacy",
    session,
    capabilities,
    can: () => true,
    ask(method, _params, { signal } = {}) {
      asked.push(method);
      return answer(signal);
    },
    notify: () => {},
  };
  return { client, asked };
}

const yes = async (): Promise<JsonObject> => ({ action: "accept" });

/** Returns the answers to a server's questions while a call of this client is pending. */
async function collectAnswers(
  upstream: StdioUpstream,
  client: Client | undefined,
): Promise<(number | undefined)[]> {
  const result = await upstream.call("ask", {}, { client, timeoutMs: 20_000 });
  const answers = JSON.parse(readText(result)) as { id: string; code?: number }[];
  return ["roots/list", "sampling/createMessage", "elicitation/create"].map(
    (method) => answers.find(({ id }) => id === `ask ${method}`)?.code,
  );
}

test("a question goes to the client whose call is pending", async () => {
  await using upstream = await connected(faulty("ok"), { capabilities });
  const { client, asked } = clientThat(yes);
  expect(await collectAnswers(upstream, client)).toEqual([undefined, undefined, undefined]);
  expect(asked.toSorted()).toEqual(["elicitation/create", "roots/list", "sampling/createMessage"]);
});

test("asks neither client where calls of two are pending", async () => {
  await using upstream = await connected(faulty("ok"), { capabilities });
  const [one, two] = [clientThat(yes), clientThat(yes)];
  const waiting = new Cancellation();
  const held = upstream.call("wait", {}, { client: one.client, cancellation: waiting });
  expect(await collectAnswers(upstream, two.client)).toEqual([-32603, -32603, -32603]);
  waiting.cancel();
  await expect(held).rejects.toMatchObject({ code: "CANCELLED" });
  expect([...one.asked, ...two.asked]).toEqual([]);
});

test("a question of a cancelled call is sent to no other client", async () => {
  await using upstream = await connected(faulty("ok"), { capabilities });
  const [one, two] = [clientThat(yes), clientThat(yes)];
  const given = new Cancellation();
  const held = upstream.call("wait", {}, { client: one.client, cancellation: given });
  // A call that was cancelled before it was sent belongs to no client.
  await upstream.call("echo", {});
  given.cancel();
  await expect(held).rejects.toMatchObject({ code: "CANCELLED" });
  expect(await collectAnswers(upstream, two.client)).toEqual([-32603, -32603, -32603]);
  expect([...one.asked, ...two.asked]).toEqual([]);
});

test("where a program has a call pending as well, no client is asked", async () => {
  await using upstream = await connected(faulty("ok"), { capabilities });
  const { client, asked } = clientThat(yes);
  const waiting = new Cancellation();
  const held = upstream.call("wait", {}, { cancellation: waiting });
  expect(await collectAnswers(upstream, client)).toEqual([-32603, -32603, -32603]);
  waiting.cancel();
  await expect(held).rejects.toMatchObject({ code: "CANCELLED" });
  expect(asked).toEqual([]);
});

test("two calls of the same client leave no doubt who is asked", async () => {
  await using upstream = await connected(faulty("ok"), { capabilities });
  const peer = {};
  const [one, two] = [clientThat(yes, peer), clientThat(yes, peer)];
  const waiting = new Cancellation();
  const held = upstream.call("wait", {}, { client: one.client, cancellation: waiting });
  expect(await collectAnswers(upstream, two.client)).toEqual([undefined, undefined, undefined]);
  waiting.cancel();
  await expect(held).rejects.toMatchObject({ code: "CANCELLED" });
});

test("without a client, a question is refused", async () => {
  await using upstream = await connected(faulty("ok"), { capabilities });
  expect(await collectAnswers(upstream, undefined)).toEqual([-32603, -32603, -32603]);
});

test("a question is cancelled when its call is over", async () => {
  await using upstream = await connected(faulty("ok"), { capabilities });
  const signals: (AbortSignal | undefined)[] = [];
  const { client } = clientThat((signal) => {
    signals.push(signal);
    return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  });
  const given = new Cancellation();
  const call = upstream.call("ask", {}, { client, cancellation: given });
  await until(() => signals.length === 3, 20_000);
  given.cancel();
  await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
  await until(() => signals.every((signal) => signal?.aborted), 20_000);
});
