import { spawn } from "node:child_process";
import { createHash, createHmac } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createHasher, installationKey } from "../../../plugins/audit/key.ts";
import { canonicalJson } from "../../../plugins/lib/hash.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const createArgumentHasher = (key: Buffer) => {
  const hash = createHasher(key);
  return (args: unknown): string => hash(canonicalJson(args));
};

test("the key is created once, readable by its user only, without other files beside it", async () => {
  const folder = join(await temporaryFolder(), "state");
  const key = installationKey(join(folder, "audit.key"));
  expect(key).toHaveLength(32);
  expect(installationKey(join(folder, "audit.key"))).toEqual(key);
  expect(await readdir(folder)).toEqual(["audit.key"]);
  if (process.platform !== "win32") expect((await stat(join(folder, "audit.key"))).mode & 0o777).toBe(0o600);
});

test("processes that create the key at once have the same one", async () => {
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

test("a damaged key is neither used nor replaced", async () => {
  const file = join(await temporaryFolder(), "audit.key");
  await writeFile(file, "short");
  expect(() => installationKey(file)).toThrow("damaged");
  expect(await readFile(file, "utf8")).toBe("short");
});

test("equal arguments have equal hashes in any order of keys, different ones have different hashes", () => {
  const hash = createArgumentHasher(Buffer.alloc(32, 7));
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (args) => {
      const reversed = Object.fromEntries(Object.entries(args).reverse());
      expect(hash(reversed)).toBe(hash(args));
      expect(hash({ ...args, "one more": 1 })).not.toBe(hash(args));
    }),
  );
});

test("a hash is the HMAC of the canonical arguments, for any length of arguments and key", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 100 }),
      fc.array(fc.string({ unit: "binary", maxLength: 3_000 }), { minLength: 1, maxLength: 3 }),
      (bytes, texts) => {
        const [key, hash] = [Buffer.from(bytes), createArgumentHasher(Buffer.from(bytes))];
        for (const text of texts) {
          const expected = createHmac("sha256", key)
            .update(`{"a":${JSON.stringify(text)}}`)
            .digest("hex");
          expect(hash({ a: text })).toBe(expected);
        }
      },
    ),
  );
});

test("arguments cannot be guessed without the key", () => {
  const args = { pin: 1234 };
  const bare = createHash("sha256").update(JSON.stringify(args)).digest("hex");
  const [one, other] = [1, 2].map((fill) => createArgumentHasher(Buffer.alloc(32, fill))(args));
  expect(new Set([bare, one, other]).size).toBe(3);
});

test("fault 34: equal values written differently in JSON have one hash: keys twice, broken characters, large numbers", () => {
  const hash = createArgumentHasher(Buffer.alloc(32, 7));
  const code = (text: string): string => hash(JSON.parse(text));
  expect(code('{"a":1,"a":2}')).toBe(code('{"a":2}'));
  expect(code('{"a":1.0,"b":1e2}')).toBe(code('{"b":100,"a":1}'));
  expect(code('{"a":"\\ud800"}')).toBe(code('{"a":"\\uD800"}'));
  expect(code('{"a":"\\ud800"}')).not.toBe(code('{"a":"\\ud801"}'));
  expect(code('{"a":"\\u0041"}')).toBe(code('{"a":"A"}'));
  expect(code('{"a":-0}')).toBe(code('{"a":0}'));
});
