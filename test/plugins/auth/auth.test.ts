import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createGateway, type Plugin } from "../../../core/mod.ts";
import { type Auth, type AuthOptions, auth } from "../../../plugins/auth/mod.ts";
import { catchFailure } from "../../support/failure.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function openAuth(options: AuthOptions): Promise<Auth> {
  const gateway = await createGateway({ plugins: [auth(options)] });
  return gateway.services.auth as Auth;
}

const sha256 = (token: string): string => createHash("sha256").update(token).digest("hex");

describe("tokens given out by hand", () => {
  const tokens = [
    { sha256: sha256("tp_one"), actor: "ann", scopes: ["tools:read"] },
    { sha256: sha256("tp_two"), actor: "bob", expires: "2020-01-01T00:00:00Z" },
  ];

  test("name their owners, with their scopes", async () => {
    const { authenticate } = await openAuth({ tokens });
    expect(await authenticate("Bearer tp_one")).toEqual({ id: "ann", scopes: ["tools:read"] });
    expect(await authenticate("bearer   tp_one")).toMatchObject({ id: "ann" });
  });

  test.each([
    [undefined, "This gateway needs a token: send it as Authorization: Bearer …"],
    ["Basic YTpi", "The Authorization header holds no bearer token."],
    ["Bearer ", "The Authorization header holds no bearer token."],
    ["Bearer tp_one, Bearer tp_one", "The Authorization header holds no bearer token."],
    [`Bearer ${"x".repeat(20_000)}`, "The token is not known here."],
    ["Bearer tp_other", "The token is not known here."],
    ["Bearer tp_two", "The token is not known here."],
  ])("refuses a request with %.40s", async (header, message) => {
    const { authenticate } = await openAuth({ tokens });
    const error = await catchFailure(authenticate(header));
    expect(error).toMatchObject({ code: "UNAUTHENTICATED", message });
  });

  test("everybody needs the scopes that are required", async () => {
    const { authenticate } = await openAuth({ tokens, requiredScopes: ["tools:read", "tools:write"] });
    expect(await catchFailure(authenticate("Bearer tp_one"))).toMatchObject({
      code: "INSUFFICIENT_SCOPE",
      message: "The token lacks the scope tools:write.",
      data: { missing: ["tools:write"] },
    });
  });
});

describe("tokens of an issuer", () => {
  let url = "";
  let close = (): void => {};
  let sign: (
    claims?: object,
    options?: { audience?: string; issuer?: string; expires?: string; foreign?: boolean },
  ) => Promise<string>;
  let fetched = 0;
  const audience = "https://gateway.example/mcp";
  const issuer = "https://issuer.example";
  const options = (): AuthOptions => ({ jwt: [{ issuer, audience, jwks: url }] });

  beforeAll(async () => {
    const own = await generateKeyPair("ES256");
    const foreign = await generateKeyPair("ES256");
    const key = { ...(await exportJWK(own.publicKey)), kid: "k1", alg: "ES256" };
    const server = createServer((_, response) => {
      fetched++;
      response.setHeader("content-type", "application/json").end(JSON.stringify({ keys: [key] }));
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
    close = () => void server.close();
    sign = (claims = {}, given = {}) =>
      new SignJWT({ sub: "carol", scope: "a b", ...claims })
        .setProtectedHeader({ alg: "ES256", kid: "k1" })
        .setIssuer(given.issuer ?? issuer)
        .setAudience(given.audience ?? audience)
        .setIssuedAt()
        .setExpirationTime(given.expires ?? "5m")
        .sign(given.foreign ? foreign.privateKey : own.privateKey);
  });
  afterAll(() => close());

  test("name the user they were made for, with the scopes in any notation", async () => {
    const { authenticate } = await openAuth(options());
    expect(await authenticate(`Bearer ${await sign()}`)).toEqual({ id: "carol", scopes: ["a", "b"] });
    const list = await sign({ scope: undefined, scp: ["x", 1, "y"] });
    expect(await authenticate(`Bearer ${list}`)).toEqual({ id: "carol", scopes: ["x", "y"] });
    expect(fetched).toBe(1);
  });

  test("extra: a token for another audience is 401, and says why without the token", async () => {
    const { authenticate } = await openAuth(options());
    const token = await sign({}, { audience: "https://other.example" });
    const error = await catchFailure(authenticate(`Bearer ${token}`));
    expect(error).toMatchObject({
      code: "UNAUTHENTICATED",
      message: "The token does not count: it was made for another service.",
    });
    expect(JSON.stringify({ ...error, message: error.message })).not.toContain(token.split(".")[2]);
  });

  test.each([
    [{ issuer: "https://evil.example" }, "it was made by another issuer"],
    [{ expires: "-5m" }, "it has expired"],
    [{ foreign: true }, "its signature is not right"],
  ])("do not count where %j", async (given, why) => {
    const { authenticate } = await openAuth(options());
    const error = await catchFailure(authenticate(`Bearer ${await sign({}, given)}`));
    expect(error).toMatchObject({ code: "UNAUTHENTICATED", message: `The token does not count: ${why}.` });
  });

  test("clocks may differ a little", async () => {
    const { authenticate } = await openAuth(options());
    expect(await authenticate(`Bearer ${await sign({}, { expires: "-10s" })}`)).toMatchObject({
      id: "carol",
    });
  });

  test("without a signature, or with one of a shared secret, they do not count", async () => {
    const { authenticate } = await openAuth(options());
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = { sub: "eve", iss: issuer, aud: audience, exp: Date.now() };
    const unsigned = `${part({ alg: "none" })}.${part(claims)}.`;
    expect((await catchFailure(authenticate(`Bearer ${unsigned}`))).code).toBe("UNAUTHENTICATED");
    const shared = await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256" })
      .sign(new TextEncoder().encode("a secret that is long enough for this"));
    expect((await catchFailure(authenticate(`Bearer ${shared}`))).code).toBe("UNAUTHENTICATED");
  });

  test("never name the user of this machine, who may do everything", async () => {
    const { authenticate } = await openAuth(options());
    const error = await catchFailure(authenticate(`Bearer ${await sign({ sub: "local" })}`));
    expect(error).toMatchObject({
      code: "UNAUTHENTICATED",
      message: 'The token does not count: "local" is the name of the local user.',
    });
    const own = await openAuth({ authenticators: [{ findActor: () => ({ id: "local", scopes: [] }) }] });
    expect((await catchFailure(own.authenticate("Bearer x"))).code).toBe("UNAUTHENTICATED");
  });

  test("of two issuers never name two users alike", async () => {
    const [one] = options().jwt ?? [];
    if (!one) throw new Error("There is an issuer.");
    const other = { ...one, issuer: "https://other.example" };
    expect(await catchFailure(openAuth({ jwt: [one, other] }))).toMatchObject({
      code: "CONFIG_INVALID",
      message: `auth.jwt: the issuers "${issuer}" and "https://other.example" could give one name to two callers. Give one of them an "actorPrefix".`,
    });
    const { authenticate } = await openAuth({ jwt: [one, { ...other, actorPrefix: "other/" }] });
    expect(await authenticate(`Bearer ${await sign()}`)).toMatchObject({ id: "carol" });
    const theirs = await sign({}, { issuer: "https://other.example" });
    expect(await authenticate(`Bearer ${theirs}`)).toMatchObject({ id: "other/carol" });
  });

  test("fault 92: never name a caller of the config, or one of another issuer", async () => {
    const [one] = options().jwt ?? [];
    if (!one) throw new Error("There is an issuer.");
    const tokens = [{ sha256: "0".repeat(64), actor: "ann" }];
    const other = { ...one, issuer: "https://other.example", actorPrefix: "other/" };
    const { authenticate } = await openAuth({ tokens, jwt: [one, other] });
    for (const sub of ["ann", "local", "other/carol"])
      expect((await catchFailure(authenticate(`Bearer ${await sign({ sub })}`))).code).toBe(
        "UNAUTHENTICATED",
      );
    expect(await authenticate(`Bearer ${await sign()}`)).toMatchObject({ id: "carol" });
    const theirs = await sign({ sub: "ann" }, { issuer: "https://other.example" });
    expect(await authenticate(`Bearer ${theirs}`)).toMatchObject({ id: "other/ann" });
  });

  test("cannot be checked while the keys cannot be fetched, which is not the caller's fault", async () => {
    const { authenticate } = await openAuth({ jwt: [{ issuer, audience, jwks: "http://127.0.0.1:1/jwks" }] });
    expect((await catchFailure(authenticate(`Bearer ${await sign()}`))).code).toBe("AUTH_UNAVAILABLE");
  });

  test("keys are not fetched in the open", async () => {
    expect(() => auth({ jwt: [{ issuer, audience, jwks: "http://issuer.example/jwks" }] })).toThrow(/https:/);
  });
});

test("without options no token is required, and an empty list of tokens is an option", async () => {
  const gateway = await createGateway({ plugins: [auth()] });
  expect(gateway.services.auth).toBeUndefined();
  await gateway.close();
  for (const options of [{ tokens: [] }, { jwt: [] }, { requiredScopes: ["a"] }]) {
    const { authenticate } = await openAuth(options);
    expect((await catchFailure(authenticate("Bearer x"))).code).toBe("UNAUTHENTICATED");
  }
});

describe("the answer to a client", () => {
  test("leads it to the issuer", async () => {
    const { metadata } = await openAuth({
      jwt: [{ issuer: "https://issuer.example", audience: "a", jwks: "https://issuer.example/jwks" }],
      requiredScopes: ["tools"],
    });
    const served = "https://gateway.example/mcp";
    expect(metadata.document(served)).toEqual({
      resource: served,
      authorization_servers: ["https://issuer.example"],
      scopes_supported: ["tools"],
      bearer_methods_supported: ["header"],
      resource_name: "toolpipe",
    });
    expect(metadata.challenge(served)).toBe(
      'Bearer resource_metadata="https://gateway.example/.well-known/oauth-protected-resource/mcp", scope="tools"',
    );
    expect(metadata.challenge(served, { code: "INSUFFICIENT_SCOPE", message: 'a "quoted"\nline' })).toContain(
      `error="insufficient_scope", error_description="a 'quoted''line"`,
    );
  });
});

describe("an authenticator of one's own", () => {
  // A class, so that it is called with the object it belongs to.
  const module = `
    class Badges {
      known = { "badge-7": { id: "dora", scopes: ["tools:read"] } };
      findActor(token) { return this.known[token]; }
    }
    export const badges = new Badges();`;

  test("is named by path in a config, or by the name it is registered under", async () => {
    const folder = await temporaryFolder({ "badges.mjs": module });
    const plugin: Plugin = {
      name: "door",
      setup: (gateway) =>
        gateway.register("authenticator", "door", {
          findActor: (token) => (token === "door-1" ? { id: "emil", scopes: [] } : undefined),
        }),
    };
    const gateway = await createGateway({
      plugins: [auth({ authenticators: ["./badges.mjs", "door"] }), plugin],
      configFile: join(folder, "toolpipe.config.json"),
    });
    const { authenticate } = gateway.services.auth as Auth;
    expect(await authenticate("Bearer badge-7")).toEqual({ id: "dora", scopes: ["tools:read"] });
    expect(await authenticate("Bearer door-1")).toMatchObject({ id: "emil" });
    expect((await catchFailure(authenticate("Bearer badge-8"))).code).toBe("UNAUTHENTICATED");
  });

  test("that is none is an error at the start", async () => {
    const folder = await temporaryFolder({ "badges.mjs": "export const badges = () => {};" });
    const configFile = join(folder, "toolpipe.config.json");
    const opening = createGateway({ plugins: [auth({ authenticators: ["./badges.mjs"] })], configFile });
    expect((await catchFailure(opening)).message).toBe(
      'auth.authenticators: expected "./badges.mjs" to export an object with the method "findActor".',
    );
  });
});
