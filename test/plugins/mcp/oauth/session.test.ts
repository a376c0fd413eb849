import { afterEach, describe, expect, test, vi } from "vitest";
import { createOauthFetch } from "../../../../plugins/mcp/oauth/authorization.ts";
import { type Authorization, createOauthSession } from "../../../../plugins/mcp/oauth/session.ts";
import { createTokenStore, type TokenStore } from "../../../../plugins/mcp/oauth/token-store.ts";
import { closeServers } from "../../../fixtures/http-servers.ts";
import { catchFailure, splitWords } from "../../../support/failure.ts";
import { until } from "../../../support/until.ts";
import { connected, readText } from "../_http.ts";
import { type Guarded, guarded } from "../_oauth.ts";

afterEach(async () => {
  vi.useRealTimers();
  await closeServers();
});

/** Lets the clock jump ahead, and nothing else. */
function later(seconds: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + seconds * 1000 });
}

/** A session that keeps logins in its own way. */
function openSession({ connection, stateFolder }: Guarded, store: Partial<TokenStore> = {}): Authorization {
  const url = new URL(connection.url);
  const key = { url: url.href, person: "local" };
  const kept = { ...createTokenStore(stateFolder), ...store };
  return createOauthSession({ name: "remote", key, store: kept, fetch: createOauthFetch(url) });
}

test("without a login the server gets NEEDS_AUTH at once, and no user is asked", async () => {
  const { connection, stateFolder, service } = await guarded();
  const error = await catchFailure(connected(connection, { stateFolder }));
  expect(error).toMatchObject({ code: "NEEDS_AUTH", data: { login: "toolpipe login remote" } });
  expect(service.seen).toEqual([]);
});

test.each(["http", "sse"] as const)("a login that was made is used (%s)", async (type) => {
  const { connection, stateFolder, login } = await guarded({}, { type });
  await login();
  await using upstream = await connected(connection, { stateFolder });
  expect(readText(await upstream.call("echo", { text: "in" }))).toBe("in");
});

test("a login is used for the user who made it alone", async () => {
  const { connection, stateFolder, login } = await guarded();
  await login({ person: "ann" });
  expect(await catchFailure(connected(connection, { stateFolder, person: "bob" }))).toMatchObject({
    code: "NEEDS_AUTH",
  });
  await using _ = await connected(connection, { stateFolder, person: "ann" });
});

describe("renewing", () => {
  test("happens a minute before the token ends, before the server could refuse it", async () => {
    const { connection, stateFolder, login, service, server } = await guarded({ lifetime: 3600 });
    await login();
    await using upstream = await connected(connection, { stateFolder });
    later(3500);
    await upstream.call("echo", { text: "early" });
    expect(service.renewals).toBe(0);
    later(45);
    await upstream.call("echo", { text: "in time" });
    await upstream.call("echo", { text: "again" });
    expect(service.renewals).toBe(1);
    const used = server.seen.map(({ headers }) => headers.authorization).filter(Boolean);
    expect(new Set(used).size).toBe(2);
  });

  test("of a token that lives for seconds does not happen with every call", async () => {
    const { connection, stateFolder, login, service } = await guarded({ lifetime: 30 });
    await login();
    await using upstream = await connected(connection, { stateFolder });
    for (let count = 0; count < 3; count++) await upstream.call("echo", { text: "x" });
    expect(service.renewals).toBe(0);
    later(16);
    for (let count = 0; count < 3; count++) await upstream.call("echo", { text: "x" });
    expect(service.renewals).toBe(1);
  });

  test("happens when the server refuses a token before its time, and the call succeeds", async () => {
    const { connection, stateFolder, login, service } = await guarded();
    await login();
    await using upstream = await connected(connection, { stateFolder });
    service.expire();
    expect(readText(await upstream.call("echo", { text: "renewed" }))).toBe("renewed");
    expect(service.renewals).toBe(1);
  });

  test("happens once for many calls on several connections with one folder", async () => {
    const { connection, stateFolder, login, service } = await guarded({ slowness: 100 });
    await login();
    await using one = await connected(connection, { stateFolder });
    await using two = await connected(connection, { stateFolder });
    await using three = await connected(connection, { stateFolder });
    service.expire();
    const calls = [one, two, three].flatMap((upstream) =>
      Array.from({ length: 5 }, (_, index) => upstream.call("echo", { text: String(index) })),
    );
    expect((await Promise.all(calls)).map(readText)).toEqual([..."012340123401234"]);
    expect(service.renewals).toBe(1);
  });

  test("by others is waited for, and their token is used", async () => {
    const setup = await guarded();
    await setup.login();
    const store = createTokenStore(setup.stateFolder);
    const key = { url: setup.connection.url, person: "local" };
    const mine = openSession(setup);
    const before = await mine.header();
    const current = await store.read(key);
    if (!current) throw new Error("There is no login.");
    const claim = await store.claim(key, current.tokens.refresh_token ?? "");
    const renewed = mine.refused(before);
    await new Promise((resolve) => setTimeout(resolve, 120));
    await store.write(key, {
      ...current,
      tokens: { ...current.tokens, access_token: "theirs", refresh_token: "new" },
    });
    await claim?.release();
    expect(await renewed).toBe("Bearer theirs");
    expect(setup.service.renewals).toBe(0);
  });

  test("that others finished just before our turn is not done again", async () => {
    const setup = await guarded();
    await setup.login();
    const store = createTokenStore(setup.stateFolder);
    const session = openSession(setup, {
      async claim(key, refreshToken) {
        const current = await store.read(key);
        if (!current) throw new Error("There is no login.");
        await store.write(key, { ...current, tokens: { ...current.tokens, access_token: "theirs" } });
        return store.claim(key, refreshToken);
      },
    });
    expect(await session.refused(await session.header())).toBe("Bearer theirs");
    expect(setup.service.renewals).toBe(0);
  });

  test("that is refused ends the login: NEEDS_AUTH, and it is forgotten", async () => {
    const { connection, stateFolder, login, kept, service } = await guarded();
    await login();
    const secrets = Object.values(JSON.parse((await kept()) ?? "").tokens as Record<string, string>);
    await using upstream = await connected(connection, { stateFolder });
    service.revoke();
    const error = await catchFailure(upstream.call("echo", { text: "x" }));
    expect(error).toMatchObject({ code: "NEEDS_AUTH", data: { login: "toolpipe login remote" } });
    expect(error.message).toBe(
      'The server "remote" no longer accepts the login. Run "toolpipe login remote".',
    );
    for (const secret of secrets)
      if (String(secret).length > 10) expect(splitWords(error)).not.toContain(secret);
    expect(await kept()).toBeUndefined();
  });

  test("after another login has been made, an open connection goes on with that", async () => {
    const { connection, stateFolder, login, service } = await guarded();
    await login();
    await using upstream = await connected(connection, { stateFolder });
    service.revoke();
    expect(await catchFailure(upstream.call("echo", { text: "x" }))).toMatchObject({ code: "NEEDS_AUTH" });
    await login();
    expect(readText(await upstream.call("echo", { text: "back" }))).toBe("back");
  });

  test("while the login service is away goes on with the token there is, as long as it lives", async () => {
    const { connection, stateFolder, login, kept, service } = await guarded();
    await login();
    await using upstream = await connected(connection, { stateFolder });
    await service.close();
    later(3550);
    expect(readText(await upstream.call("echo", { text: "x" }))).toBe("x");
    later(60);
    const error = await catchFailure(upstream.call("echo", { text: "x" }));
    expect(error).toMatchObject({ code: "CONNECT_FAILED" });
    expect(error.message).toContain(new URL(service.origin).host);
    expect(await kept()).toBeDefined();
  });

  test("does not undo a login that a user makes at the same time", async () => {
    const { connection, stateFolder, login, kept, service } = await guarded({ slowness: 300 });
    await login();
    await using upstream = await connected(connection, { stateFolder });
    service.expire();
    const call = upstream.call("echo", { text: "x" });
    await until(() => service.renewals === 1);
    await login({ scope: "tools more" });
    expect(readText(await call)).toBe("x");
    expect(JSON.parse((await kept()) ?? "").tokens.scope).toBe("tools more");
  });

  test("does not bring back a login that is removed at the same time", async () => {
    const { connection, stateFolder, login, kept, service } = await guarded({ slowness: 300 });
    await login();
    await using upstream = await connected(connection, { stateFolder });
    service.expire();
    const call = catchFailure(upstream.call("echo", { text: "x" }));
    await until(() => service.renewals === 1);
    await createTokenStore(stateFolder).remove({ url: connection.url, person: "local" });
    expect(await call).toMatchObject({ code: "NEEDS_AUTH" });
    expect(await kept()).toBeUndefined();
  });

  test("is not tried with every call while the login service fails", async () => {
    const { connection, stateFolder, login, service } = await guarded();
    await login();
    await using upstream = await connected(connection, { stateFolder });
    service.options.broken = 503;
    later(3550);
    for (let count = 0; count < 4; count++) await upstream.call("echo", { text: "x" });
    expect(service.seen.filter(({ path }) => path === "/token")).toHaveLength(2);
    later(11);
    service.options.broken = 0;
    await upstream.call("echo", { text: "x" });
    expect(service.renewals).toBe(1);
  });

  test("that the login service fails at is said so, and the login is kept", async () => {
    const { connection, stateFolder, login, kept, service } = await guarded();
    await login();
    await using upstream = await connected(connection, { stateFolder });
    service.options.broken = 500;
    service.expire();
    const error = await catchFailure(upstream.call("echo", { text: "x" }));
    expect(error).toMatchObject({ code: "UPSTREAM_ERROR", data: { retryable: true } });
    expect(splitWords(error)).not.toContain("refresh-");
    expect(await kept()).toContain("refresh-");
    service.options.broken = 0;
    expect(readText(await upstream.call("echo", { text: "fixed" }))).toBe("fixed");
  });

  test("is not possible for every login: one that cannot is used to its end, and then asked for again", async () => {
    const { connection, stateFolder, login } = await guarded({ renewable: false });
    await login();
    await using upstream = await connected(connection, { stateFolder });
    later(3590);
    expect(readText(await upstream.call("echo", { text: "still" }))).toBe("still");
    later(20);
    expect(await catchFailure(upstream.call("echo", { text: "x" }))).toMatchObject({ code: "NEEDS_AUTH" });
  });

  test("with a client that is configured wrongly does not cost the login", async () => {
    const oauth = { clientId: "mine", clientSecret: "right" };
    const { connection, stateFolder, login, kept, service } = await guarded({ clients: { mine: "right" } });
    await login({ oauth });
    service.expire();
    const wrong = { ...oauth, clientSecret: "wrong" };
    expect(await catchFailure(connected(connection, { stateFolder, oauth: wrong }))).toMatchObject({
      code: "NEEDS_AUTH",
    });
    expect(await kept()).toBeDefined();
    await using _ = await connected(connection, { stateFolder, oauth });
  });

  test("does not spend a token where the new one could not be kept", async () => {
    const setup = await guarded();
    await setup.login();
    const session = openSession(setup, { claim: () => Promise.reject(new Error("EROFS")) });
    const error = await catchFailure(session.refused(await session.header()));
    expect(error.message).toContain("its file cannot be written");
    expect(setup.service.renewals).toBe(0);
  });
});

test("a login that another client made is not used", async () => {
  const { connection, stateFolder, login } = await guarded({ clients: { mine: "s" } });
  await login();
  const error = await catchFailure(
    connected(connection, { stateFolder, oauth: { clientId: "mine", clientSecret: "s" } }),
  );
  expect(error).toMatchObject({ code: "NEEDS_AUTH" });
});

test("a scope that is missing is asked for at the next login, together with those there are", async () => {
  const { connection, stateFolder, login, service } = await guarded();
  await login();
  const upstream = await connected(connection, { stateFolder });
  service.options.scope = "tools:write";
  const error = await catchFailure(upstream.call("echo", { text: "x" }));
  expect(error).toMatchObject({
    code: "NEEDS_AUTH",
    data: { scope: "tools:write", login: "toolpipe login remote" },
  });
  // Renewing changes nothing about what is missing.
  service.expire();
  expect(await catchFailure(upstream.call("echo", { text: "x" }))).toMatchObject({ code: "NEEDS_AUTH" });
  expect(await login()).toMatchObject({ scope: "tools tools:write" });
  expect(service.asked).toEqual(["tools", "tools tools:write"]);
  expect(readText(await upstream.call("echo", { text: "more" }))).toBe("more");
  await upstream.close();
});
