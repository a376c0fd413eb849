import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { createGateway } from "../../../core/mod.ts";
import { memoryStore, type StateOptions, state } from "../../../plugins/state/mod.ts";
import { temporaryFolder } from "../../_helpers/temporary-folder.ts";

describe("the plugin", () => {
  test("offers a store in the folder it is given", async () => {
    const folder = await temporaryFolder();
    const gateway = await createGateway({ plugins: [state({ folder })] });
    expect(await readdir(folder)).toEqual([]);
    await gateway.services.state?.setIfAbsent("g/k", { n: 1 });
    expect(await readdir(folder)).toEqual(["g"]);
    await gateway.close();
  });

  test("keeps state in the person's own folder if none is given, and makes nothing before it has to", async () => {
    const home = await temporaryFolder();
    vi.stubEnv("TOOLPIPE_HOME", home);
    try {
      const gateway = await createGateway({ plugins: [state()] });
      expect(await gateway.services.state?.get("g/k")).toBeUndefined();
      expect(await readdir(home)).toEqual([]);
      await gateway.services.state?.setIfAbsent("g/k", { n: 1 });
      expect(await readdir(join(home, "state", "store"))).toEqual(["g"]);
      await gateway.close();
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test("offers the store it is given, and closes it with the gateway", async () => {
    let closed = 0;
    const store = { ...memoryStore(), close: () => void closed++ };
    const gateway = await createGateway({ plugins: [state({ store })] });
    expect(gateway.services.state).toBe(store);
    await gateway.close();
    expect(closed).toBe(1);
  });

  test("checks its options", () => {
    expect(() => state({ store: {} } as unknown as StateOptions)).toThrow("a state store");
    expect(() => state({ folder: 1 } as unknown as StateOptions)).toThrow("folder");
  });
});
