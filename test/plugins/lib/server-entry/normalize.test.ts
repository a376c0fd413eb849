// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Dialect, Origin, ServerConfig } from "../../../../core/services/sources.ts";
import { normalizeEntry, normalizeServerName } from "../../../../plugins/lib/server-entry/normalize.ts";

const origin: Origin = { source: "test", scope: "user" };

function normalizeOne(entry: unknown, dialect?: Dialect): ServerConfig {
  const { config, reason } = normalizeEntry({ name: "a", entry }, origin, { dialect });
  if (!config) throw new Error(reason);
  return config;
}

function getReason(entry: unknown): string {
  return normalizeEntry({ name: "a", entry }, origin).reason ?? "it was taken";
}

describe("a process", () => {
  const expected = { type: "stdio", command: "npx", args: ["-y", "x"], env: { A: "1" } };

  test.for([
    { command: "npx", args: ["-y", "x"], env: { A: "1" } },
    { command: ["npx", "-y", "x"], environment: { A: "1" }, type: "local" },
    { cmd: "npx", args: ["-y", "x"], envs: { A: "1" }, type: "stdio" },
    { command: { path: "npx", args: ["-y", "x"], env: { A: "1" } } },
    { connection: { type: "stdio", command: "npx", args: ["-y", "x"], env: { A: "1" } } },
    { transport: { type: "stdio", command: "npx", args: ["-y", "x"], env: { A: 1 } } },
    { command: ["npx"], args: ["-y", "x"], env: { A: "1", B: null }, transport: "stdio" },
  ])("is understood from %j", (entry) => {
    expect(normalizeOne(entry).connection).toEqual(expected);
  });
});

describe("a URL", () => {
  test.for([
    [{ url: "https://a.example/mcp" }, "http"],
    [{ url: "https://a.example/sse" }, "http"],
    [{ url: "https://a.example/sse", type: "sse" }, "sse"],
    [{ serverUrl: "https://a.example/mcp" }, "http"],
    [{ httpUrl: "https://a.example/mcp" }, "http"],
    [{ uri: "https://a.example/mcp", type: "streamable_http" }, "http"],
    ...["http", "streamable-http", "streamableHttp", "streamable_http", "remote", "HTTP"].map(
      (type) => [{ url: "https://a.example/mcp", type }, "http"] as const,
    ),
    [{ url: "https://a.example/mcp", transport: "sse" }, "sse"],
    [{ url: "https://a.example/mcp", transportType: "http" }, "http"],
  ] as const)("%j is of type %s", ([entry, type]) => {
    expect(normalizeOne(entry).connection.type).toBe(type);
  });

  test("is SSE where the client means that by a bare url, but not by httpUrl or against a type", () => {
    const dialect = { url: "sse" } as const;
    expect(normalizeOne({ url: "https://a.example" }, dialect).connection.type).toBe("sse");
    expect(normalizeOne({ httpUrl: "https://a.example" }, dialect).connection.type).toBe("http");
    expect(normalizeOne({ url: "https://a.example", type: "http" }, dialect).connection.type).toBe("http");
  });

  test("may hold variables that are only known later", () => {
    expect(normalizeOne({ url: "${BASE}/mcp" }).connection).toMatchObject({ url: "${BASE}/mcp" });
  });
});

test.for([
  [{ command: "x", disabled: true }, true],
  [{ command: "x", enabled: false }, true],
  [{ command: "x", enabled: true, disabled: false }, undefined],
  [{ command: "x" }, undefined],
] as const)("%j is switched off: %s", ([entry, disabled]) => {
  expect(normalizeOne(entry).disabled).toBe(disabled);
});

describe("tools", () => {
  test.for([
    [{ includeTools: ["a"] }, { include: ["a"] }],
    [
      { enabled_tools: ["a"], disabled_tools: ["b"] },
      { include: ["a"], exclude: ["b"] },
    ],
    [{ disabledTools: ["b"] }, { exclude: ["b"] }],
    [{ tools: { include: ["a"], exclude: ["b"] } }, { include: ["a"], exclude: ["b"] }],
    [{ tools: ["a"] }, { include: ["a"] }],
    [{ tools: ["*"] }, undefined],
    [{ tools: [{ name: "a", description: "described" }] }, undefined],
  ])("%j allows and forbids %j", ([entry, tools]) => {
    expect(normalizeOne({ command: "x", ...entry }).tools).toEqual(tools);
  });

  test.for(["autoApprove", "alwaysAllow", "trust", "alwaysLoad", "default_tools_approval_mode"])(
    "%s is no approval and changes nothing",
    (key) => {
      for (const value of [true, ["a"], "approve"]) {
        expect(normalizeOne({ command: "x", [key]: value })).toEqual(normalizeOne({ command: "x" }));
      }
    },
  );

  test("a list of forbidden tools that cannot be read is a reason, because skipping it would allow them", () => {
    expect(getReason({ command: "x", disabledTools: "delete" })).toBe("its list of tools is not a list");
  });
});

test("a bare timeout counts what its client means by it", () => {
  const entry = { command: "x", timeout: 30 };
  expect(normalizeOne(entry)).toMatchObject({ startTimeoutMs: undefined, callTimeoutMs: undefined });
  expect(normalizeOne(entry, { timeout: "call-s" }).callTimeoutMs).toBe(30_000);
  expect(normalizeOne(entry, { timeout: "call-ms" }).callTimeoutMs).toBe(30);
  expect(normalizeOne(entry, { timeout: "start-ms" }).startTimeoutMs).toBe(30);
  const huge = normalizeOne({ command: "x", callTimeoutMs: 1e300, startTimeoutMs: -1 });
  expect(huge).toMatchObject({ callTimeoutMs: 2_147_483_647, startTimeoutMs: undefined });
});

describe("an unusable entry has a reason", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(100)}1${"}".repeat(100)}`);
  const hostile = JSON.parse('{ "command": "x", "env": { "__proto__": { "polluted": "1" } } }');

  test.for([
    ["an entry that is no object", "text", "it is not an object"],
    ["an entry that is a list", ["npx"], "it is not an object"],
    ["neither command nor URL", {}, "it names neither a command nor a URL"],
    ["a process without a command", { type: "stdio", url: "https://a.example" }, "it names no command"],
    ["a blank command", { command: "  " }, "it names no command"],
    ["an empty list as its command", { command: [] }, "it names no command"],
    ["a command that is an object", { command: {} }, "its command is not a string"],
    ["arguments that are a text", { command: "x", args: "a b" }, "its args is not a list"],
    ["an argument that is a list", { command: "x", args: [[]] }, "one of its args is not a string"],
    ["an argument that is missing", { command: "x", args: [null] }, "one of its args is not a string"],
    ["an env that is a list", { command: "x", env: ["A=1"] }, "its env is not a map"],
    ["a variable that is a map", { command: "x", env: { A: {} } }, '"A" in its env is not a string'],
    [
      "a variable with = in its name",
      { command: "x", env: { "A=B": "1" } },
      "a variable in its env has a name that cannot be used",
    ],
    ["a null character", { command: "x", args: ["a\0b"] }, "one of its args holds a null character"],
    [
      "a header with a line break",
      { url: "https://a.example", headers: { A: "x\r\nB: y" } },
      'its header "A" holds a line break',
    ],
    [
      "a header name with a space",
      { url: "https://a.example", headers: { "A B": "x" } },
      "one of its headers has a name that cannot be used",
    ],
    ["a URL of another kind", { url: "file:///etc/passwd" }, "its URL is not one of http or https"],
    ["a URL that is none", { url: "not a url" }, "its URL is not one of http or https"],
    ["an empty URL", { url: " " }, "its URL is empty"],
    ["a URL that is a list", { url: [] }, "its URL is not a string"],
    ["an unknown type", { type: "websocket", url: "wss://a.example" }, "its type is none that is known"],
    [
      "a type that names a method of objects",
      { type: "constructor", command: "x" },
      "its type is none that is known",
    ],
    ["a prototype", hostile, "it holds a key that is not allowed"],
    ["too much nesting", { command: "x", deep }, "it is nested too deeply"],
    ["too much of it", { command: "x", args: ["a".repeat(2_000_000)] }, "it is too large"],
    ["a date", { command: "x", since: new Date(0) }, "it holds a value that is not plain data"],
    [
      "a trap",
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error("trapped");
          },
        },
      ),
      "it cannot be read",
    ],
  ] as const)("%s", ([, entry, reason]) => {
    expect(getReason(entry)).toBe(reason);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test.for([
    ["", 1],
    [undefined, 2],
    [7, 3],
    ["\u200B\u202E", 4],
    [" \n\t", 5],
    ["x".repeat(1_000), 6],
  ] as const)("a name that cannot be one: %j", ([name]) => {
    const { reason } = normalizeEntry({ name, entry: { command: "x" } }, origin);
    expect(reason).toMatch(/^it has no name|^its name cannot be used/);
  });
});

test("no entry makes it throw", () => {
  const entry = fc.object({
    key: fc.oneof(
      fc.constantFrom(
        "command",
        "args",
        "env",
        "url",
        "type",
        "headers",
        "tools",
        "timeout",
        "inputs",
        "connection",
      ),
      fc.string(),
    ),
    values: [fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.constant(null), fc.bigInt(), fc.date()],
    maxDepth: 3,
  });
  fc.assert(
    fc.property(fc.anything(), entry, (name, value) => {
      const { config, reason } = normalizeEntry({ name, entry: value }, origin);
      expect(config === undefined).toBe(typeof reason === "string");
    }),
  );
});

describe("the name of a server", () => {
  test.for([
    ["github", "github"],
    ["My Server", "My Server"],
    ["a:b", "a-b"],
    ["  a \n b  ", "a b"],
    ["a\u200B\u202Eb\u0000", "ab"],
    ["e\u0301", "\u00e9"],
    ["io.github.user/weather", "io.github.user/weather"],
    ["\ud800x", "x"],
    ["\u3164x", "x"],
  ] as const)("%j becomes %j", ([given, name]) => {
    expect(normalizeServerName(given)).toBe(name);
  });

  test("is stable, visible, and holds no colon", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 30 }), (given) => {
        const name = normalizeServerName(given);
        if (name === undefined) return;
        expect(name).not.toMatch(/[:\p{Cc}\p{Cf}\p{Cs}]/u);
        expect(name).toBe(name.trim().normalize("NFC"));
        expect(normalizeServerName(name)).toBe(name);
      }),
    );
  });
});
