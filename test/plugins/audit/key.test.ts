import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { installationKey, paramsHash } from "../../../plugins/audit/key.ts";
import { temporaryFolder } from "../../_helpers/temporary-folder.ts";

test("a key is made once, for nobody else to read, and leaves nothing beside it", async () => {
  const folder = join(await temporaryFolder(), "state");
  const key = installationKey(join(folder, "audit.key"));
  expect(key).toHaveLength(32);
  expect(installationKey(join(folder, "audit.key"))).toEqual(key);
  expect(await readdir(folder)).toEqual(["audit.key"]);
  if (process.platform !== "win32") expect((await stat(join(folder, "audit.key"))).mode & 0o777).toBe(0o600);
});

test("processes that make it at once have the same one", async () => {
  const file = join(await temporaryFolder(), "audit.key");
  const fixture = fileURLToPath(new URL("../../fixtures/audit-key.ts", import.meta.url));
  const jiti = join(createRequire(import.meta.url).resolve("jiti/package.json"), "../lib/jiti-cli.mjs");
  const args = "Deno" in globalThis ? ["run", "-A", fixture, file] : [jiti, fixture, file];
  const printed = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      let text = "";
      child.stdout.on("data", (chunk) => {
        text += chunk;
      });
      await new Promise((resolve) => child.on("close", resolve));
      return text;
    }),
  );
  expect(new Set(printed)).toEqual(new Set([(await readFile(file, "utf8")).trim()]));
});

test("a key that is damaged is not used, and not replaced", async () => {
  const file = join(await temporaryFolder(), "audit.key");
  await writeFile(file, "short");
  expect(() => installationKey(file)).toThrow("damaged");
  expect(await readFile(file, "utf8")).toBe("short");
});

test("equal arguments have equal codes in whatever order their keys came, others have others", () => {
  const key = Buffer.alloc(32, 7);
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (args) => {
      const reversed = Object.fromEntries(Object.entries(args).reverse());
      expect(paramsHash(key, reversed)).toBe(paramsHash(key, args));
      expect(paramsHash(key, { ...args, "one more": 1 })).not.toBe(paramsHash(key, args));
    }),
  );
});

test("who does not have the key cannot find the arguments by trying", () => {
  const args = { pin: 1234 };
  const bare = createHash("sha256").update(JSON.stringify(args)).digest("hex");
  const [one, other] = [1, 2].map((fill) => paramsHash(Buffer.alloc(32, fill), args));
  expect(new Set([bare, one, other]).size).toBe(3);
});

test("fault 34: what JSON says in two ways has one code: keys twice, broken characters, large numbers", () => {
  const key = Buffer.alloc(32, 7);
  const code = (text: string): string => paramsHash(key, JSON.parse(text));
  expect(code('{"a":1,"a":2}')).toBe(code('{"a":2}'));
  expect(code('{"a":1.0,"b":1e2}')).toBe(code('{"b":100,"a":1}'));
  expect(code('{"a":"\\ud800"}')).toBe(code('{"a":"\\uD800"}'));
  expect(code('{"a":"\\ud800"}')).not.toBe(code('{"a":"\\ud801"}'));
  expect(code('{"a":"\\u0041"}')).toBe(code('{"a":"A"}'));
  expect(code('{"a":-0}')).toBe(code('{"a":0}'));
});
