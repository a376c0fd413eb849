import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createOauthFetch } from "../../../../plugins/mcp/oauth/authorization.ts";
import { authorize } from "../../../../plugins/mcp/oauth/login.ts";
import { closeServers, listen, modern } from "../../../fixtures/http-servers.ts";
import { catchFailure, splitWords } from "../../../support/failure.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";
import { until } from "../../../support/until.ts";
import { connected, readText, remote } from "../_http.ts";
import { guarded } from "../_oauth.ts";

afterEach(closeServers);

test("a user logs in once, and the server can be used", async () => {
  const { connection, stateFolder, login, service, kept } = await guarded();
  let page = "";
  const made = await login({
    async openBrowser(url) {
      const response = await fetch(url);
      page = `${response.status} ${response.headers.get("content-security-policy")} ${await response.text()}`;
    },
  });
  expect(made).toEqual({ issuer: service.origin, scope: "tools" });
  await until(() => page !== "");
  expect(page).toContain("You can close this page.");
  expect(page).toContain("200 default-src 'none'");
  await using upstream = await connected(connection, { stateFolder });
  expect(readText(await upstream.call("echo", { text: "in" }))).toBe("in");
  expect(JSON.parse((await kept()) ?? "")).toMatchObject({
    server: connection.url,
    person: "local",
    issuer: service.origin,
  });
});

test.skipIf(process.platform === "win32")("what is kept can be read by its owner alone", async () => {
  const { stateFolder, login } = await guarded();
  await login();
  const folder = join(stateFolder, "oauth");
  const files = await readdir(folder);
  expect(files).toHaveLength(1);
  expect((await stat(join(folder, files[0] ?? ""))).mode & 0o777).toBe(0o600);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
});

describe("the client", () => {
  test("registers itself as a program on this machine that keeps no secret", async () => {
    const { login, service } = await guarded();
    await login();
    expect(service.registered).toEqual([
      expect.objectContaining({
        client_name: "toolpipe",
        application_type: "native",
        token_endpoint_auth_method: "none",
        redirect_uris: [expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)],
      }),
    ]);
  });

  test("is named by a document where the service knows how to read one", async () => {
    const clientMetadataUrl = "https://toolpipe.test/client.json";
    const { login, service, kept, connection, stateFolder } = await guarded({ documents: true });
    await login({ oauth: { clientMetadataUrl } });
    expect(service.registered).toEqual([]);
    expect(JSON.parse((await kept()) ?? "").client.client_id).toBe(clientMetadataUrl);
    service.expire();
    await using upstream = await connected(connection, { stateFolder, oauth: { clientMetadataUrl } });
    expect(readText(await upstream.call("echo", { text: "renewed" }))).toBe("renewed");
  });

  test("registers where the service does not know such documents", async () => {
    const { login, service } = await guarded();
    await login({ oauth: { clientMetadataUrl: "https://toolpipe.test/client.json" } });
    expect(service.registered).toHaveLength(1);
  });

  test("can be one that was registered by hand, whose secret is not written down again", async () => {
    const oauth = { clientId: "by-hand", clientSecret: "canary-secret" };
    const { login, service, kept, connection, stateFolder } = await guarded({
      registration: false,
      clients: { "by-hand": "canary-secret" },
    });
    await login({ oauth });
    expect(service.registered).toEqual([]);
    expect(await kept()).not.toContain("canary-secret");
    service.expire();
    await using upstream = await connected(connection, { stateFolder, oauth });
    expect(readText(await upstream.call("echo", { text: "renewed" }))).toBe("renewed");
  });

  test("that must be registered by hand is asked for", async () => {
    const { login, kept } = await guarded({ registration: false });
    const error = await catchFailure(login());
    expect(error).toMatchObject({ code: "CONFIG_INVALID" });
    expect(error.message).toContain("Register one, and write its id in the configuration.");
    expect(await kept()).toBeUndefined();
  });

  test("comes back to the port it was registered with", async () => {
    const free = await listen(() => {});
    const redirectPort = Number(new URL(free.origin).port);
    const { login, service } = await guarded();
    const taken = await catchFailure(login({ oauth: { redirectPort } }));
    expect(taken).toMatchObject({ code: "CONFIG_INVALID" });
    await free.close();
    await login({ oauth: { redirectPort } });
    expect(service.registered[0]?.["redirect_uris"]).toEqual([`http://127.0.0.1:${redirectPort}/callback`]);
  });
});

describe("a login", () => {
  test("that the user refuses is DENIED, and nothing is kept", async () => {
    const { login, kept } = await guarded({ refuses: "access_denied" });
    expect(await catchFailure(login())).toMatchObject({ code: "DENIED", message: "The login was refused." });
    expect(await kept()).toBeUndefined();
  });

  test("that another server answers fails before the code is spent", async () => {
    const { login, kept, service } = await guarded({ iss: "https://evil.test" });
    const error = await catchFailure(login());
    expect(error.message).toContain("the answer came from another issuer");
    expect(splitWords(error)).not.toContain("evil");
    expect(service.seen.map(({ path }) => path)).not.toContain("/token");
    expect(await kept()).toBeUndefined();
  });

  test("is not disturbed by a page that does not belong to it", async () => {
    const { login } = await guarded();
    const statuses: number[] = [];
    const made = await login({
      async openBrowser(url) {
        const back = new URL(url).searchParams.get("redirect_uri") ?? "";
        for (const query of ["?code=evil&state=wrong", "?code=evil", "?error=x&state="]) {
          statuses.push((await fetch(back + query)).status);
        }
        statuses.push((await fetch(back.replace("/callback", "/other"))).status);
        await fetch(url);
      },
    });
    expect(made.scope).toBe("tools");
    expect(statuses).toEqual([404, 404, 404, 404]);
  });

  test("that no user completes is abandoned", async () => {
    const { login, kept } = await guarded();
    const urls: string[] = [];
    const error = await catchFailure(
      login({ timeoutMs: 100, openBrowser: undefined, onUrl: (url) => urls.push(url) }),
    );
    expect(error).toMatchObject({ code: "TIMEOUT" });
    expect(urls).toEqual([expect.stringContaining("code_challenge_method=S256")]);
    expect(await kept()).toBeUndefined();
    const back = new URL(urls[0] ?? "").searchParams.get("redirect_uri") ?? "";
    await expect(fetch(back)).rejects.toThrow();
  });

  test("can be cancelled", async () => {
    const { login } = await guarded();
    const abort = new AbortController();
    const error = await catchFailure(login({ signal: abort.signal, openBrowser: () => abort.abort() }));
    expect(error).toMatchObject({ code: "CANCELLED" });
  });

  test("works without a browser that can be opened", async () => {
    const { login } = await guarded();
    const made = await login({
      openBrowser() {
        throw new Error("There is no browser.");
      },
      onUrl: (url) => void fetch(url),
    });
    expect(made.scope).toBe("tools");
  });

  test("asks for the scope it is told to", async () => {
    const { login, service } = await guarded();
    await login({ oauth: { scope: "from-settings" } });
    await login({ oauth: { scope: "from-settings" }, scope: "from-caller" });
    expect(service.asked).toEqual(["from-settings", "from-caller"]);
  });

  test("sends the headers of the server to the server alone", async () => {
    const { login, service, server } = await guarded(
      {},
      { headers: { "X-Key": "canary", Authorization: "canary" } },
    );
    await login();
    expect(JSON.stringify(service.seen)).not.toContain("canary");
    expect(server.seen[0]?.headers).toMatchObject({ "x-key": "canary" });
    expect(server.seen[0]?.headers.authorization).toBeUndefined();
  });

  test("to a server that wants none is said to be needless", async () => {
    const { url } = await modern();
    const options = { name: "remote", stateFolder: await temporaryFolder() };
    const error = await catchFailure(authorize(remote(url), options));
    expect(error.message).toContain("does not ask for a login");
  });

  test("to a server that is not there fails as a connection does", async () => {
    const server = await modern();
    await server.close();
    const options = { name: "remote", stateFolder: await temporaryFolder() };
    expect(await catchFailure(authorize(remote(server.url), options))).toMatchObject({
      code: "CONNECT_FAILED",
    });
  });
});

test.each([
  ["https://a.test/mcp", "http://127.0.0.1:1/token"],
  ["https://a.test/mcp", "http://a.test/token"],
  ["http://127.0.0.1:1/mcp", "http://169.254.169.254/token"],
  ["http://10.0.0.1/mcp", "http://10.0.0.1/token"],
])("a login of %s is not made at %s", async (server, place) => {
  const error = await catchFailure(createOauthFetch(new URL(server))(place));
  expect(error.message).toContain("which is not reached over https");
});
