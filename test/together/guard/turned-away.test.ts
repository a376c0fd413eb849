import { describe, expect, test } from "vitest";
import { type JsonObject, textResult } from "../../../core/mod.ts";
import { resultMeta } from "../../../core/services/policy.ts";
import { approvals } from "../../../plugins/approvals/mod.ts";
import { guard, requestMeta } from "../../../plugins/guard/mod.ts";
import { fileStore, state } from "../../../plugins/state/mod.ts";
import { type Answer, json, type RestServer, restServer } from "../../fixtures/openapi/faulty-rest.ts";
import { keyed } from "../../plugins/guard/_guarded.ts";
import { createApi, type Opened, openAdapters } from "../../plugins/openapi/_open.ts";
import { getError } from "../../support/failure.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { openPinnedBank } from "../_pinned-bank.ts";

const paths = {
  "/charges": { post: { operationId: "createCharge" } },
  "/accounts": { delete: { operationId: "deleteAccount" } },
};

/** An API behind the guard. */
async function guarded(
  answer: Answer,
  overlay: { readonly idempotencyHeader?: string } = {},
  parameters: readonly JsonObject[] = [],
): Promise<Opened & RestServer> {
  const server = await restServer(answer);
  const document = createApi({ ...paths, "/charges": { post: { operationId: "createCharge", parameters } } });
  const adapter = { document, overlay, server: server.origin, allowPrivate: true };
  const store = fileStore(await temporaryFolder());
  return { ...(await openAdapters({ api: adapter }, [state({ store }), approvals(), guard()])), ...server };
}

/** Answers with these, one after the other, and then with the last of them. */
function inTurn(...statuses: readonly number[]): Answer {
  let turn = 0;
  return (_request, response) => {
    const status = statuses[Math.min(turn++, statuses.length - 1)] as number;
    json(response, { turn }, status);
  };
}

const meta = keyed("key-0001");
const charge = (api: Opened) => api.run("api:create-charge", {}, { meta });

describe("an idempotency key under which a REST API", () => {
  test.each([401, 403])(
    "answered %d is free: the same call is made again, and then replayed",
    async (status) => {
      const api = await guarded(inTurn(status, 201));
      const first = await charge(api);
      expect(first.result).toMatchObject({ isError: true, structuredContent: { status } });
      expect(first.result?._meta).not.toHaveProperty("replayed");
      expect((await charge(api)).result?.structuredContent).toEqual({ turn: 2 });
      expect(await charge(api)).toMatchObject({
        via: "replay",
        result: { structuredContent: { turn: 2 } },
      });
      expect(api.received).toHaveLength(2);
    },
  );

  test("answered 429 is free", async () => {
    const api = await guarded(inTurn(429, 201));
    expect(getError(await charge(api)).code).toBe("RATE_LIMITED");
    expect((await charge(api)).result?.structuredContent).toEqual({ turn: 2 });
    expect(api.received).toHaveLength(2);
  });

  test.each([400, 402, 404, 409, 422, 501])("answered %d is used up, and replayed", async (status) => {
    const api = await guarded(inTurn(status, 201));
    await charge(api);
    expect(await charge(api)).toMatchObject({
      via: "replay",
      result: { isError: true, structuredContent: { status } },
    });
    expect(api.received).toHaveLength(1);
  });

  test.each([500, 502, 503, 504])(
    "fault 64: answered %d to a payment is unknown, also when it is called again",
    async (status) => {
      const api = await guarded(inTurn(status, 201));
      for (const _ of [1, 2]) {
        const error = getError(await charge(api));
        expect(error).toMatchObject({
          code: "OUTCOME_UNKNOWN",
          data: { safe_new_key: false, retryable: false },
        });
        expect(error.data["suggestion"]).toMatch(/^Find out with another tool whether it was done\./);
      }
      expect(api.received).toHaveLength(1);
    },
  );

  test("fault 64: answered 503 to is called again under its key where the config says that the API takes one", async () => {
    const api = await guarded(inTurn(503, 503, 201), { idempotencyHeader: "Idempotency-Key" });
    expect(getError(await charge(api)).message).toMatch(/its API answered HTTP 503 Service Unavailable/);
    await charge(api);
    expect((await charge(api)).result?.structuredContent).toEqual({ turn: 3 });
    expect(new Set(api.received.map(({ headers }) => headers["idempotency-key"]))).toEqual(
      new Set(["key-0001"]),
    );
  });

  test("fault 64: answered 503 to is not called again where only its document says that it takes one", async () => {
    const api = await guarded(inTurn(503, 201), {}, [
      { name: "Idempotency-Key", in: "header", schema: { type: "string" } },
    ]);
    for (const _ of [1, 2]) expect(getError(await charge(api)).code).toBe("OUTCOME_UNKNOWN");
    expect(api.received.map(({ headers }) => headers["idempotency-key"])).toEqual(["key-0001"]);
  });

  test.each([401, 403, 429])(
    "did it, and answered %d only when asked how it went, is not free",
    async (status) => {
      const api = await guarded((request, response) => {
        if (request.method === "POST") response.writeHead(303, { location: "/how" }).end();
        else json(response, {}, status);
      });
      await charge(api);
      await charge(api);
      expect(api.received.map(({ method }) => method)).toEqual(["POST", "GET"]);
    },
  );
});

test("a confirmation is given back where the API turned the call away, and used up once it was made", async () => {
  const api = await guarded(inTurn(403, 200));
  const remove = (given: JsonObject) => api.run("api:delete-account", {}, { meta: given });
  const token = getError(await remove({})).data["confirmation"] as string;
  const confirmation = { [requestMeta.confirmation]: token };
  expect((await remove(confirmation)).result?.isError).toBe(true);
  expect((await remove(confirmation)).result?.structuredContent).toEqual({ turn: 2 });
  expect(getError(await remove(confirmation)).code).toBe("CONFIRMATION_INVALID");
  expect(api.received).toHaveLength(2);
});

test("no other server is believed that it turned a call away: its answer is replayed", async () => {
  const answer = { ...textResult("HTTP 403"), isError: true, _meta: { [resultMeta.turnedAway]: true } };
  const { gateway, effects } = await openPinnedBank({ answer: () => answer });
  const request = { tool: "bank:charge", args: { amount: 5 }, meta };
  await gateway.run(request);
  expect((await gateway.run(request)).via).toBe("replay");
  expect(effects).toHaveLength(1);
});
