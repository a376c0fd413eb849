import { chmod, mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createTokenStore, type Login } from "../../../../plugins/mcp/oauth/token-store.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const key = { url: "https://example.test/mcp?team=canary-url", person: "canary-person" };
const login: Login = {
  server: "https://example.test/mcp",
  person: "canary-person",
  issuer: "https://login.example.test",
  authorizationServer: "https://login.example.test",
  metadata: { issuer: "https://login.example.test", token_endpoint: "https://login.example.test/token" },
  resource: "https://example.test/mcp",
  client: { client_id: "client" },
  tokens: {
    access_token: "access",
    token_type: "Bearer",
    refresh_token: "refresh",
    scope: "a b",
    expires_in: 3600,
  },
  expiresAt: 1_900_000_000_000,
};

async function findFile(folder: string): Promise<string> {
  const [name, ...others] = await readdir(join(folder, "oauth"));
  expect(others).toEqual([]);
  return join(folder, "oauth", name ?? "");
}

test("a login is read as it was written, by another process too", async () => {
  const folder = await temporaryFolder();
  await createTokenStore(folder).write(key, login);
  expect(await createTokenStore(folder).read(key)).toEqual(login);
});

test("each person and each server has a login of its own", async () => {
  const store = createTokenStore(await temporaryFolder());
  await store.write(key, login);
  expect(await store.read({ ...key, person: "other" })).toBeUndefined();
  expect(await store.read({ ...key, url: "https://example.test/mcp?team=other" })).toBeUndefined();
  await store.write({ ...key, person: "other" }, { ...login, person: "other" });
  expect(await store.read(key)).toEqual(login);
});

test.skipIf(process.platform === "win32")("only its owner can read it, or see that it is there", async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "oauth"));
  await chmod(join(folder, "oauth"), 0o755);
  await createTokenStore(folder).write(key, login);
  expect((await stat(join(folder, "oauth"))).mode & 0o777).toBe(0o700);
  expect((await stat(await findFile(folder))).mode & 0o777).toBe(0o600);
});

test("the name of the file tells neither the server nor the user", async () => {
  const folder = await temporaryFolder();
  await createTokenStore(folder).write(key, login);
  expect(await findFile(folder)).not.toMatch(/canary|example/);
});

test("a login that was removed is gone, and removing it again is no failure", async () => {
  const store = createTokenStore(await temporaryFolder());
  await store.write(key, login);
  await store.remove(key);
  await store.remove(key);
  expect(await store.read(key)).toBeUndefined();
});

test("a file that is damaged is as good as none, and can be written over", async () => {
  const folder = await temporaryFolder();
  const store = createTokenStore(folder);
  await store.write(key, login);
  const file = await findFile(folder);
  const whole = await readFile(file);
  await fc.assert(
    // No closing brace, or the damage might restore what was cut off.
    fc.asyncProperty(
      fc.nat(whole.length - 3),
      fc.uint8Array({ maxLength: 4, max: 0x7c }),
      async (length, rest) => {
        await writeFile(file, Buffer.concat([whole.subarray(0, length), rest]));
        expect(await store.read(key)).toBeUndefined();
      },
    ),
    { numRuns: 40 },
  );
  for (const text of ["null", "[]", '{"tokens":{}}', JSON.stringify({ ...login, tokens: 1 })]) {
    await writeFile(file, text);
    expect(await store.read(key)).toBeUndefined();
  }
  await store.write(key, login);
  expect(await store.read(key)).toEqual(login);
});

test("a reader sees, while others write, one login or the other, whole", async () => {
  const folder = await temporaryFolder();
  const logins = [login, { ...login, tokens: { ...login.tokens, access_token: "x".repeat(2_000_000) } }];
  await createTokenStore(folder).write(key, login);
  const writing = Promise.all(
    Array.from({ length: 40 }, (_, index) => createTokenStore(folder).write(key, logins[index % 2] ?? login)),
  );
  let over = false;
  void writing.then(() => {
    over = true;
  });
  while (!over) expect(logins).toContainEqual(await createTokenStore(folder).read(key));
  await writing;
  await findFile(folder);
});

test("only one of many gets to spend a token, until it has let go", async () => {
  const folder = await temporaryFolder();
  const claims = await Promise.all(
    Array.from({ length: 20 }, () => createTokenStore(folder).claim(key, "refresh")),
  );
  const held = claims.filter((claim) => claim !== undefined);
  expect(held).toHaveLength(1);
  expect(await createTokenStore(folder).claim(key, "another")).toBeDefined();
  await held[0]?.release();
  expect(await createTokenStore(folder).claim(key, "refresh")).toBeDefined();
});

test("a claim whose owner is gone can be taken over, by one of many", async () => {
  const folder = await temporaryFolder();
  const store = createTokenStore(folder);
  await store.claim(key, "refresh");
  const longAgo = new Date(Date.now() - 120_000);
  await utimes(await findFile(folder), longAgo, longAgo);
  const claims = await Promise.all(Array.from({ length: 20 }, () => store.claim(key, "refresh")));
  const held = claims.filter((claim) => claim !== undefined);
  expect(held).toHaveLength(1);
  await held[0]?.release();
  expect(await readdir(join(folder, "oauth"))).toEqual([]);
});

test("however many owners are gone, a token can be spent in the end", async () => {
  const folder = await temporaryFolder();
  const store = createTokenStore(folder);
  const longAgo = new Date(Date.now() - 120_000);
  let taken = 0;
  for (let count = 0; count < 20; count++) {
    if (await store.claim(key, "refresh")) taken++;
    for (const name of await readdir(join(folder, "oauth")))
      await utimes(join(folder, "oauth", name), longAgo, longAgo);
  }
  expect(taken).toBeGreaterThan(15);
});

test("claims do not tell the token they are for", async () => {
  const folder = await temporaryFolder();
  await createTokenStore(folder).claim(key, "canary-token");
  const file = await findFile(folder);
  expect(file + (await readFile(file, "utf8"))).not.toContain("canary-token");
});
