import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../core/mod.ts";
import { createDamagedError, STATE_UNAVAILABLE } from "../../../core/services/state.ts";
import { createOutbox } from "../../../plugins/guard/outbox.ts";

/** A store that fails until it is mended. */
function brokenStore(failure: GatewayError = new GatewayError(STATE_UNAVAILABLE, "It is gone.")) {
  const written: string[] = [];
  let tries = 0;
  const store = {
    isBroken: true,
    written,
    get tries() {
      return tries;
    },
    write: (text: string) => async () => {
      tries++;
      if (store.isBroken) throw failure;
      written.push(text);
    },
  };
  return store;
}

describe("an outcome that cannot be stored", () => {
  test("is stored in its turn once the store is back, and said once", async () => {
    const [store, outbox, said] = [brokenStore(), createOutbox(), [] as string[]];
    await outbox.store(store.write("a"), ({ code }) => said.push(code));
    await outbox.store(store.write("b"), ({ code }) => said.push(code));
    await expect.poll(() => store.tries).toBeGreaterThan(3);
    expect(store.written).toEqual([]);
    store.isBroken = false;
    await expect.poll(() => store.written, { timeout: 10_000 }).toEqual(["a", "b"]);
    expect(said).toEqual(["STATE_UNAVAILABLE", "STATE_UNAVAILABLE"]);
  });

  test("is tried once more when the gateway closes", async () => {
    const [store, outbox] = [brokenStore(), createOutbox()];
    await outbox.store(store.write("a"), () => {});
    store.isBroken = false;
    await outbox.close();
    expect(store.written).toEqual(["a"]);
  });

  test("is not tried again where its record is damaged", async () => {
    const [store, outbox] = [brokenStore(createDamagedError("the record")), createOutbox()];
    await outbox.store(store.write("a"), () => {});
    store.isBroken = false;
    await outbox.close();
    expect(store.written).toEqual([]);
  });
});
