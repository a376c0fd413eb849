import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { createGateway } from "../../../core/mod.ts";
import { memoryStore, type StateOptions, state } from "../../../plugins/state/mod.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("the plugin", () => {
  test("offers a store in the folder it is given", async () => {
    const folder = await temporaryFolder();
    const gateway = await createGateway({ plugins: [state({ folder })] });
    expect(await readdir(folder)).toEqual([]);
    await gateway.services.state?.setIfAbsent("g/k", { n: 1 });
    expect(await readdir(folder)).toEqual(["g"]);
    await gateway.close();
  });

  test("keeps state in the user's own folder if none is given, and makes nothing before it has to", async () => {
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
    await store.setIfAbsent("g/k", { n: 1 });
    expect((await gateway.services.state?.get("g/k"))?.value).toEqual({ n: 1 });
    await gateway.close();
    expect(closed).toBe(1);
  });

  describe("a store by name or path", () => {
    const store = `
      export default ({ start = 0 }) => {
        const entries = new Map([["g/start", { key: "g/start", value: { n: start }, version: "1" }]]);
        return {
          get: async (key) => entries.get(key),
          setIfAbsent: async (key, value) => !entries.has(key) && !!entries.set(key, { key, value, version: "1" }),
          replace: async () => false,
          delete: async () => false,
          list: async () => [...entries.values()],
          close() {},
        };
      };`;

    test("is memory, or files in a folder", async () => {
      const folder = await temporaryFolder();
      const inMemory = await createGateway({ plugins: [state({ store: "memory" })] });
      expect(inMemory.services.state?.volatile).toBe(true);
      const inFiles = await createGateway({ plugins: [state({ store: { type: "files", folder } })] });
      await inFiles.services.state?.setIfAbsent("g/k", { n: 1 });
      expect(await readdir(folder)).toEqual(["g"]);
      await Promise.all([inMemory.close(), inFiles.close()]);
    });

    test("is a module, with options of its own", async () => {
      const folder = await temporaryFolder({ "my-store.mjs": store });
      const choice = { type: `${folder}/my-store.mjs`, start: 7 };
      const gateway = await createGateway({ plugins: [state({ store: choice })] });
      expect((await gateway.services.state?.get("g/start"))?.value).toEqual({ n: 7 });
      await gateway.close();
    });

    test("that creates no store, or is not there, ends the start", async () => {
      const folder = await temporaryFolder({ "wrong.mjs": "export default () => ({});" });
      const open = (choice: string) => createGateway({ plugins: [state({ store: choice })] });
      await expect(open(`${folder}/wrong.mjs`)).rejects.toThrow("did not create a state store");
      await expect(open("memroy")).rejects.toThrow('There is no stateStore "memroy"');
    });
  });

  test("checks its options", () => {
    expect(() => state({ store: {} } as unknown as StateOptions)).toThrow("store");
    expect(() => state({ folder: 1 } as unknown as StateOptions)).toThrow("folder");
  });
});
