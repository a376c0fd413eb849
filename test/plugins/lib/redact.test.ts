import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../core/mod.ts";
import {
  redactError,
  redactor,
  redactResult,
  secretArguments,
  secretsOf,
} from "../../../plugins/lib/redact.ts";

describe("known secrets", () => {
  test("are taken out in every form that programs write them in", () => {
    const secret = 'p@ss "word"/1';
    const redact = redactor([secret]);
    const texts = [
      `bad key ${secret}!`,
      JSON.stringify({ key: secret }),
      `https://a.example/?key=${encodeURIComponent(secret)}`,
      Buffer.from(secret).toString("base64"),
    ];
    for (const text of texts) expect(redact(text)).toContain("…");
    expect(redact("nothing to see")).toBe("nothing to see");
  });

  test("leave no trace in any text, whatever is around them", () => {
    const word = fc.string({ minLength: 6, unit: "grapheme" });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), fc.string(), fc.string(), (all, a, b) => {
        const redact = redactor(all);
        for (const secret of all) {
          expect(redact(`${a}${secret}${b}`)).not.toContain(secret);
        }
      }),
    );
  });

  test("tokens are taken out though nobody knows them, and sentences stay as they are", () => {
    const redact = redactor([]);
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
  const clean = redactError(error, redactor(["canary-1"]));
  expect(clean).toMatchObject({ code: "TIMEOUT", message: "It said ….", data: { ms: 5 } });
  expect((clean.cause as Error).cause).toMatchObject({ code: "E" });
  const inner = clean.cause as Error;
  expect(`${JSON.stringify(clean)}${inner.stack}${String(inner.cause)}`).not.toContain("canary");
  const harmless = new GatewayError("TIMEOUT", "Late.", { data: { ms: 5 } });
  expect(redactError(harmless, redactor(["canary-1"]))).toBe(harmless);
});

test("a failure of a tool is redacted, and an answer is nobody's to change", () => {
  const redact = redactor(["canary-1"]);
  const content = [{ type: "text", text: "canary-1" }];
  const failed = { content, isError: true, structuredContent: { "canary-1": 1 } };
  expect(JSON.stringify(redactResult(failed, redact))).not.toContain("canary");
  const answer = { content };
  expect(redactResult(answer, redact)).toBe(answer);
});

describe("what of a definition is secret", () => {
  /** Without the form that a name and a password have in a header. */
  const plain = (secrets: readonly string[]): string[] =>
    secrets.filter((secret) => !Buffer.from(secret, "base64").toString().includes(":")).sort();

  test("of a process: variables by their names, options by theirs, and what nobody would have thought of", () => {
    const secrets = secretsOf({
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
        HOME: "/home/somebody",
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

  test("of an address: its headers, its user and password, its query", () => {
    const secrets = secretsOf({
      type: "http",
      url: "https://somebody:canary-pw@a.example/mcp?key=canary-query&v=1",
      headers: {
        Authorization: "Bearer canary-header",
        "X-Custom": "canary-own",
        Accept: "application/json",
      },
    });
    expect(secrets).toContain(Buffer.from("somebody:canary-pw").toString("base64"));
    expect(plain(secrets)).toEqual([
      "Bearer canary-header",
      "canary-header",
      "canary-own",
      "canary-pw",
      "canary-query",
      "somebody",
    ]);
  });

  test("of arguments: what is called like a secret, however deep", () => {
    const args = {
      path: "/tmp/file",
      auth: { password: "canary-1" },
      list: [{ api_key: "canary-2" }],
      pin: 7,
    };
    expect(secretArguments(args)).toEqual(["canary-1", "canary-2"]);
    expect(secretArguments("canary")).toEqual([]);
  });
});
