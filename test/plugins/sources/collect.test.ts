// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { execFileSync } from "node:child_process";
import { chmod, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clients } from "../../../plugins/sources/clients.ts";
import { collect } from "../../../plugins/sources/collect.ts";
import { fileSource, inlineSource } from "../../../plugins/sources/custom.ts";
import { temporaryFolder, writeFiles } from "../../support/temporary-folder.ts";
import { byName, collectClients, createMachine, mcpServers } from "./_machine.ts";

const codes = ({ warnings }: { warnings: readonly { code: string }[] }): string[] =>
  warnings.map(({ code }) => code);

describe("a broken file", () => {
  test("is reported with file, line and reason, and the others go on", async () => {
    const machine = await createMachine({
      "home/.cursor/mcp.json": '{\n  "mcpServers": {\n    "a": { "command": }\n  }\n}',
      "home/.codex/config.toml": '[mcp_servers.b]\ncommand = "b"\nargs = [',
      "home/.config/goose/config.yaml": "extensions:\n  a: [\n",
      "home/.kimi/mcp.json": mcpServers({ good: { command: "good" } }),
    });
    const { servers, files } = await collectClients(machine);
    expect(servers.map(({ name }) => name)).toEqual(["good"]);
    const broken = files.filter(({ status }) => status === "broken");
    expect(broken.map(({ source }) => source)).toEqual(["codex", "goose", "cursor"]);
    for (const { file, reason } of broken)
      expect(reason).toMatch(new RegExp(`^${file}:[0-9]+:[0-9]+: .+\\.$`));
    expect(broken.at(-1)?.reason).toContain("mcp.json:3:23: ");
  });

  test.for([
    ["a list", "[]", "it does not hold an object"],
    ["nothing", "", "value expected"],
    [
      "servers that are a number",
      '{ "mcpServers": 3 }',
      '"mcpServers" is neither an object nor a list of servers',
    ],
    [
      "a key that reaches a prototype",
      '{ "mcpServers": { "__proto__": { "command": "a" } } }',
      "not allowed",
    ],
  ] as const)("is one that holds %s", async ([, text, reason]) => {
    const machine = await createMachine({ "home/.cursor/mcp.json": text });
    const { servers, files } = await collectClients(machine, "cursor");
    expect(servers).toEqual([]);
    expect(files[0]).toMatchObject({ status: "broken", count: 0 });
    expect(files[0]?.reason).toContain(reason);
  });

  test("is also a folder with its name, and an unreadable file", async () => {
    const machine = await createMachine({ "home/.kimi/mcp.json": "{}" });
    await mkdir(join(machine.home, ".cursor", "mcp.json"), { recursive: true });
    await chmod(join(machine.home, ".kimi", "mcp.json"), 0);
    // The superuser may read everything.
    const mayRead = process.getuid?.() === 0;
    const { files } = await collectClients(machine, "cursor", "kimi");
    const status = Object.fromEntries(files.map((file) => [file.source, file.status]));
    expect(status).toMatchObject({ kimi: mayRead ? "read" : "broken" });
    expect(files.find(({ source, scope }) => source === "cursor" && scope === "user")).toMatchObject({
      status: "broken",
      reason: expect.stringContaining("it is not a file"),
    });
  });

  test.skipIf(process.platform === "win32")("is also a pipe, which is not waited for", async () => {
    const machine = await createMachine({ "project/.cursor/other": "" });
    execFileSync("mkfifo", [join(machine.project, ".cursor", "mcp.json")]);
    const { files } = await collectClients(machine, "cursor");
    expect(files.map(({ status }) => status)).toEqual(["missing", "broken"]);
  });

  test("is also a link that leads to itself", async () => {
    const machine = await createMachine();
    await mkdir(join(machine.home, ".cursor"));
    await symlink("mcp.json", join(machine.home, ".cursor", "mcp.json"));
    const { files } = await collectClients(machine, "cursor");
    expect(files.map(({ status }) => status)).toContain("broken");
  });

  test("beside another does not cost that one", async () => {
    const machine = await createMachine({
      "project/.mcp.json": mcpServers({ a: { command: "a" } }),
      "project/.claude/settings.json": "{",
    });
    const { servers, files } = await collectClients(machine, "claude-code");
    expect(servers).toHaveLength(1);
    expect(files.map(({ status }) => status).toSorted()).toEqual(["broken", "missing", "read"]);
  });
});

test("an entry that cannot be used is named with its file and its reason, and the others go on", async () => {
  const machine = await createMachine({
    "home/.cursor/mcp.json": mcpServers({ bad: { args: [] }, good: { command: "good" } }),
  });
  const { servers, files, warnings } = await collectClients(machine, "cursor");
  expect(servers.map(({ name }) => name)).toEqual(["good"]);
  expect(files[0]).toMatchObject({ status: "read", count: 1 });
  expect(warnings).toEqual([
    {
      code: "ENTRY_INVALID",
      message: `In ${join(machine.home, ".cursor", "mcp.json")}, the server "bad" cannot be used: it names neither a command nor a URL.`,
    },
  ]);
});

test("an entry of a strange form costs no other in its file", async () => {
  const machine = await createMachine({
    "home/.codex/config.toml":
      '[mcp_servers.bad]\nurl = "https://a.example"\nenv_http_headers = { A = { b = 1 } }\n[mcp_servers.good]\ncommand = "good"',
  });
  const { servers, files } = await collectClients(machine, "codex");
  expect(servers.map(({ name }) => name)).toContain("good");
  expect(files.map(({ status }) => status)).toEqual(["read", "missing"]);
});

test("a name that had to be changed is told", async () => {
  const machine = await createMachine({
    "home/.cursor/mcp.json": mcpServers({ "a:\u200Bb": { command: "good" } }),
  });
  const { servers, warnings } = await collectClients(machine, "cursor");
  expect(servers.map(({ name }) => name)).toEqual(["a-b"]);
  expect(warnings[0]?.code).toBe("RENAMED");
  expect(warnings[0]?.message).toContain('"a:\\u{200b}b" is called "a-b" here');
});

describe("fault 57: the same name in two sources", () => {
  const cursor = (command: string) => mcpServers({ github: { command, env: { FROM: command } } });

  test("config comes before project, and project before user; nothing is merged", async () => {
    const machine = await createMachine({
      "home/.claude.json": cursor("of-user"),
      "project/.cursor/mcp.json": cursor("of-project"),
    });
    const inline = inlineSource([{ name: "github", command: "of-config" }], undefined);
    const all = await collect([...clients, inline], machine);
    expect(all.servers.map(({ connection }) => connection)).toMatchObject([
      { command: "of-config", env: {} },
    ]);
    const files = await collect(clients, machine);
    expect(files.servers.map(({ connection }) => connection)).toMatchObject([
      { command: "of-project", env: { FROM: "of-project" } },
    ]);
  });

  test("a warning names both files", async () => {
    const machine = await createMachine({
      "home/.claude.json": cursor("of-user"),
      "project/.cursor/mcp.json": cursor("of-project"),
    });
    const { warnings } = await collect(clients, machine);
    const project = join(machine.project, ".cursor", "mcp.json");
    const user = join(machine.home, ".claude.json");
    expect(warnings).toEqual([
      {
        code: "SAME_NAME",
        message: `The server "github" is defined in ${project} (cursor) and in ${user} (claude-code); the first one counts.`,
      },
    ]);
  });

  test("within one scope, the order of the clients decides, and then the order in the file", async () => {
    const machine = await createMachine({
      "home/.kimi/mcp.json": mcpServers({ b: { command: "kimi-b" }, a: { command: "kimi-a" } }),
      "home/.cursor/mcp.json": mcpServers({ a: { command: "cursor-a" }, c: { command: "cursor-c" } }),
    });
    const { servers } = await collect(clients, machine);
    const found = servers.map(
      ({ name, connection }) => `${name}=${"command" in connection && connection.command}`,
    );
    expect(found).toEqual(["b=kimi-b", "a=kimi-a", "c=cursor-c"]);
  });

  test("one that is switched off in a client does not hide one that is on in another", async () => {
    const machine = await createMachine({
      "project/.kiro/settings/mcp.json": mcpServers({ a: { command: "off", disabled: true } }),
      "home/.cursor/mcp.json": mcpServers({ a: { command: "on" } }),
    });
    const { servers } = await collect(clients, machine);
    expect(servers.map(({ connection }) => connection)).toMatchObject([{ command: "on" }]);
  });

  test("one that is switched off in the config hides all others", async () => {
    const machine = await createMachine({ "home/.cursor/mcp.json": mcpServers({ a: { command: "on" } }) });
    const inline = inlineSource([{ name: "a", command: "off", disabled: true }], undefined);
    const { servers } = await collect([...clients, inline], machine);
    expect(servers.map(({ disabled }) => disabled)).toEqual([true]);
  });
});

describe("the same server twice", () => {
  test("under another name in another file it is left out, with a note", async () => {
    const machine = await createMachine(
      {
        "home/.kimi/mcp.json": mcpServers({ one: { command: "x", env: { KEY: "${TOKEN}" } } }),
        "home/.cursor/mcp.json": mcpServers({ two: { command: "x", env: { KEY: "${env:TOKEN}" } } }),
      },
      { env: { TOKEN: "t" } },
    );
    const collected = await collect(clients, machine);
    expect(collected.servers.map(({ name }) => name)).toEqual(["one"]);
    expect(collected.warnings).toEqual([
      {
        code: "DUPLICATE",
        message: `The server "two" in ${join(machine.home, ".cursor", "mcp.json")} (cursor) is the same as the server "one" in ${join(machine.home, ".kimi", "mcp.json")} (kimi) and is left out.`,
      },
    ]);
  });

  test("with other variables it is another server", async () => {
    const machine = await createMachine({
      "home/.kimi/mcp.json": mcpServers({ one: { command: "x", env: { KEY: "1" } } }),
      "home/.cursor/mcp.json": mcpServers({ two: { command: "x", env: { KEY: "2" } } }),
    });
    expect((await collect(clients, machine)).servers).toHaveLength(2);
  });

  test("in a project's file and a user's own, it is the user's own and needs no approval", async () => {
    const machine = await createMachine({
      "project/.cursor/mcp.json": mcpServers({ same: { url: "https://a.example/mcp" } }),
      "home/.kimi/mcp.json": mcpServers({ same: { url: "https://a.example/mcp" } }),
    });
    const collected = await collect(clients, machine);
    expect(collected.servers.map(({ origin }) => origin.scope)).toEqual(["user"]);
    expect(codes(collected)).toEqual(["DUPLICATE"]);
  });

  test("two names in one file are meant, and both stay", async () => {
    const machine = await createMachine({
      "home/.cursor/mcp.json": mcpServers({
        work: { url: "https://notes.example/mcp" },
        home: { url: "https://notes.example/mcp" },
      }),
    });
    expect((await collectClients(machine, "cursor")).servers).toHaveLength(2);
  });
});

test("a file of the project that the config names is the config's, even if another source reads it", async () => {
  const machine = await createMachine({ "project/.cursor/mcp.json": mcpServers({ a: { command: "a" } }) });
  const named = fileSource({ type: "cursor", path: ".cursor/mcp.json" });
  for (const sources of [
    [...clients, named],
    [named, ...clients],
  ]) {
    const { servers, warnings } = await collect(sources, machine);
    expect(servers.map(({ origin }) => origin.scope)).toEqual(["config"]);
    expect(warnings).toEqual([]);
  }
});

test("a key that reaches a prototype stays without effect, however it is written", async () => {
  const text =
    '{ "mcpServers": { "\\u005f_proto__": { "command": "a" }, "b": { "\\u005f_proto__": {}, "command": "b" } } }';
  const machine = await createMachine({ "home/.cursor/mcp.json": text });
  const { servers } = await collectClients(machine, "cursor");
  expect(servers.filter(({ name }) => name !== "__proto__")).toEqual([]);
  expect(Object.keys(Object.prototype)).toEqual([]);
});

test("the gateway does not import itself, by command or by its own URL", async () => {
  const machine = await createMachine({
    "home/.cursor/mcp.json": mcpServers({
      toolpipe: { command: "npx", args: ["-y", "toolpipe", "serve"] },
      spec: { command: "npx", args: ["-y", "@anygpt/discovery"] },
      url: { url: "http://127.0.0.1:4000/mcp" },
      other: { command: "other" },
    }),
  });
  const collected = await collect(clients, machine, { ownUrls: ["http://127.0.0.1:4000/mcp"] });
  expect(collected.servers.map(({ name }) => name)).toEqual(["other"]);
  expect(codes(collected)).toEqual(["SELF", "SELF", "SELF"]);
});

test("the result is the same however often it is asked for", async () => {
  const machine = await createMachine({
    "home/.kimi/mcp.json": mcpServers({ a: { command: "a" }, b: { command: "b" } }),
    "home/.cursor/mcp.json": mcpServers({ b: { command: "c" }, a: {} }),
    "project/.claude/settings.json": "{",
    "project/.claude/settings.local.json": "[",
    "project/.mcp.json": mcpServers({ a: { command: "d" } }),
  });
  const first = await collect(clients, machine);
  for (let again = 0; again < 5; again++) expect(await collect(clients, machine)).toEqual(first);
});

test("nothing that a file may hold makes it fail, and every server has a usable name", async () => {
  const folder = await temporaryFolder();
  const file = join(folder, "any.json");
  const word = fc.constantFrom(
    ...["mcpServers", "servers", "mcp", "extensions", "registry", "command", "args", "env", "url", "type"],
    ...[
      "stdio",
      "http",
      "a",
      "",
      "constructor",
      "tools",
      "name",
      "connection",
      "packages",
      "remotes",
      "inputs",
    ],
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null), fc.string()),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(fc.oneof(word, fc.string()), tie("tree"), { maxKeys: 6 }),
    ),
  }));
  const types = [...clients.map(({ name }) => name), "custom", "server-json"];
  const machine = await createMachine();
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.oneof(word, fc.string()), tree, { maxKeys: 5 }), async (content) => {
      await writeFiles(folder, { "any.json": JSON.stringify(content) });
      const all = types.map((type) => fileSource({ type, path: file }));
      // One at a time: the same file is only read once.
      for (const source of all) {
        const { servers } = await collect([source], machine);
        for (const { name } of servers) expect(name).toMatch(/^[^\p{C}:]+$/u);
      }
    }),
    { numRuns: 60 },
  );
  expect(Object.keys(Object.prototype)).toEqual([]);
});

test("a thousand servers in one file are read in one go", async () => {
  const many = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, index) => [`s${index}`, { command: "same" }]),
  );
  const machine = await createMachine({ "home/.cursor/mcp.json": mcpServers(many) });
  const found = byName(await collectClients(machine, "cursor"));
  expect(Object.keys(found)).toEqual(Object.keys(many));
});
