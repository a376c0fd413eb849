import { expect, test } from "vitest";
import { timeout } from "../../../plugins/timeout.ts";
import { restServer } from "../../fixtures/openapi/faulty-rest.ts";
import { createApi, openAdapters } from "../../plugins/openapi/_open.ts";
import { getError } from "../../support/failure.ts";

const paths = { "/it": { get: { operationId: "read" } } };

test("where a plugin times calls, that is what ends them", async () => {
  const server = await restServer(() => {});
  const adapter = { document: createApi(paths), server: server.origin, allowPrivate: true, timeoutMs: 1 };
  const { run } = await openAdapters({ api: adapter }, [timeout({ ms: 150 })]);
  expect(getError(await run("api:read"))).toMatchObject({
    code: "TIMEOUT",
    data: { setting: "options.timeout.ms" },
  });
});
