// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Connection, Machine, ServerConfig } from "../../../../core/services/sources.ts";
import { expandConnection } from "../../../../plugins/lib/server-entry/expand.ts";
import { catchFailure } from "../../../support/failure.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const machine: Machine = {
  platform: "linux",
  home: "/home/ada",
  project: "/work/garden",
  env: { NAME: "value", EMPTY: "", OTHER: "${NAME}", word: "w", TOOLPIPE_INPUT_API_KEY: "typed" },
};

function server(connection: Connection, source = "cursor"): ServerConfig {
  return { name: "s", connection, origin: { source, file: "/files/mcp.json", scope: "user" } };
}

function stdio(more: object): Connection {
  return { type: "stdio", command: "x", args: [], env: {}, ...more };
}

async function argument(written: string, source?: string): Promise<string | undefined> {
  const expanded = await expandConnection(server(stdio({ args: [written] }), source), machine);
  return expanded.type === "stdio" ? expanded.args[0] : undefined;
}

describe("a variable written as", () => {
  test.for([
    ["${NAME}", "value"],
    ["a${NAME}b${NAME}", "avaluebvalue"],
    ["${env:NAME}", "value"],
    ["${NAME:-other}", "value"],
    ["${UNSET:-other}", "other"],
    ["${UNSET:-}", ""],
    ["${UNSET:-https://a.example:80/}", "https://a.example:80/"],
    ["${EMPTY}", ""],
    ["${EMPTY:-other}", ""],
    ["${input:api-key}", "typed"],
    ["${workspaceFolder}/x", "/work/garden/x"],
    ["${workspaceFolderBasename}", "garden"],
    ["${userHome}/x", "/home/ada/x"],
    ["${{ secrets.NAME }}", "value"],
    ["$${NAME}", "$value"],
  ] as const)("%s is filled in", async ([written, filled]) => {
    expect(await argument(written)).toBe(filled);
  });

  test.for([
    "$NAME",
    "{env:NAME}",
    "$$NAME",
    "$",
    "100$",
    "$5",
    "${}",
    "${1}",
    "${a.b}",
    "${NAME",
    "~/x",
    "pa$word",
    "%NAME%",
  ])("%s is left as it is in a client that does not know it", async (written) => {
    expect(await argument(written)).toBe(written);
  });

  test.for(["gemini-cli", "crush", "copilot"])(
    "$NAME is known to %s, but not a $ of another kind",
    async (client) => {
      expect(await argument("Bearer $NAME.", client)).toBe("Bearer value.");
      expect(await argument("$word", client)).toBe("w");
      for (const other of ["$$NAME", "$", "a$ b", "$5", "pa$phrase"])
        expect(await argument(other, client)).toBe(other);
    },
  );

  test("{env:NAME} is known to opencode", async () => {
    expect(await argument("Bearer {env:NAME}", "opencode")).toBe("Bearer value");
    expect(await argument("{file:NAME} {NAME}", "opencode")).toBe("{file:NAME} {NAME}");
  });

  test("a value is not looked at again", async () => {
    expect(await argument("${OTHER}")).toBe("${NAME}");
    expect(await argument("${OTHER}", "crush")).toBe("${NAME}");
  });

  test("the name may be in any case on Windows only", async () => {
    const config = server(stdio({ args: ["${name}"] }));
    const onWindows = await expandConnection(config, { ...machine, platform: "win32" });
    expect(onWindows).toMatchObject({ args: ["value"] });
    expect((await catchFailure(expandConnection(config, machine))).code).toBe("MISSING_VARIABLE");
  });
});

test("variables are filled in everywhere: command, args, env, cwd, URL and headers", async () => {
  const process = stdio({
    command: "~/bin/${NAME}",
    args: ["${NAME}"],
    env: { "${NAME}": "${NAME}" },
    cwd: "~/${NAME}",
  });
  expect(await expandConnection(server(process), machine)).toEqual({
    type: "stdio",
    command: join("/home/ada", "bin/value"),
    args: ["value"],
    env: { "${NAME}": "value" },
    cwd: join("/home/ada", "value"),
  });
  const remote: Connection = {
    type: "sse",
    url: "https://${NAME}.example/${NAME}",
    headers: { Key: "${NAME}" },
  };
  expect(await expandConnection(server(remote), machine)).toEqual({
    type: "sse",
    url: "https://value.example/value",
    headers: { Key: "value" },
  });
});

test("a relative cwd begins in the project", async () => {
  expect(await expandConnection(server(stdio({ cwd: "./tools" })), machine)).toMatchObject({
    cwd: join("/work/garden", "tools"),
  });
});

test("variables that are passed on are those that are set, and the entry's own come first", async () => {
  const config = server(stdio({ env: { NAME: "own" }, envNames: ["NAME", "EMPTY", "UNSET"] }));
  expect(await expandConnection(config, machine)).toEqual(stdio({ env: { NAME: "own", EMPTY: "" } }));
});

test("a bearer token comes from its variable", async () => {
  const remote = (bearerEnv: string): Connection => ({
    type: "http",
    url: "https://a.example",
    headers: {},
    bearerEnv,
  });
  expect(await expandConnection(server(remote("NAME")), machine)).toEqual({
    type: "http",
    url: "https://a.example",
    headers: { Authorization: "Bearer value" },
  });
  expect((await catchFailure(expandConnection(server(remote("UNSET")), machine))).message).toContain("UNSET");
});

describe("an envFile", () => {
  test("gives variables, and the entry's own come first", async () => {
    const project = await temporaryFolder({
      ".env": "# comment\nFROM_FILE=one\nexport QUOTED=\"two words\"\nNAME='file'\nRAW=${NAME}\n",
    });
    const config = server(stdio({ env: { NAME: "own" }, envFile: "${workspaceFolder}/.env" }));
    expect(await expandConnection(config, { ...machine, project })).toEqual(
      stdio({ env: { FROM_FILE: "one", QUOTED: "two words", NAME: "own", RAW: "${NAME}" } }),
    );
  });

  test("that is missing is named with its server", async () => {
    const project = await temporaryFolder();
    const error = await catchFailure(
      expandConnection(server(stdio({ envFile: ".env" })), { ...machine, project }),
    );
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message).toBe(
      `The envFile of the server "s" cannot be read: ${join(project, ".env")} (ENOENT).`,
    );
  });
});

describe("a variable that is not set", () => {
  test.for([
    ["${UNSET}", "UNSET"],
    ["${env:UNSET}", "UNSET"],
    ["${{ secrets.UNSET }}", "UNSET"],
    ["${input:other-key}", "TOOLPIPE_INPUT_OTHER_KEY"],
  ] as const)("%s is an error that names it", async ([written, name]) => {
    const error = await catchFailure(expandConnection(server(stdio({ env: { KEY: written } })), machine));
    expect(error.code).toBe("MISSING_VARIABLE");
    expect(error.message).toBe(
      `The server "s" cannot be used: its definition in /files/mcp.json needs ${name}, which is not set.`,
    );
    expect(error.data).toEqual({ server: "s", variables: [name] });
  });

  test("all of them are named at once", async () => {
    const config = server(stdio({ args: ["${ONE}", "${NAME}"], env: { A: "${TWO}", B: "${ONE}" } }));
    expect((await catchFailure(expandConnection(config, machine))).data["variables"]).toEqual(["ONE", "TWO"]);
  });

  test("does not reveal the others", async () => {
    const env = { SECRET: "canary-1", NAME: "canary-2" };
    const config = server(
      stdio({ args: ["canary-3", "${SECRET}", "${UNSET}"], env: { A: "canary-4 ${NAME}" } }),
    );
    const error = await catchFailure(expandConnection(config, { ...machine, env }));
    expect(JSON.stringify([error, error.message, String(error.cause)])).not.toContain("canary");
  });
});

test("a URL that is none once its variables are filled in is an error without the URL", async () => {
  const remote: Connection = { type: "http", url: "${NAME}?key=canary", headers: {} };
  const error = await catchFailure(expandConnection(server(remote), machine));
  expect(error.code).toBe("CONFIG_INVALID");
  expect(error.message).not.toContain("canary");
});

test("returns a string without a dollar sign or a brace unchanged", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string().filter((text) => !/[${]/.test(text)),
      fc.constantFrom("cursor", "crush", "opencode"),
      async (text, source) => {
        expect(await argument(text, source)).toBe(text);
      },
    ),
  );
});

test("a client of a login service is part of a definition, and its secret may be a variable", async () => {
  const given = { clientId: "app", clientSecret: "${NAME}", redirectPort: "8123" };
  const remote: Connection = { type: "http", url: "https://example.com/mcp", headers: {}, oauth: given };
  const expanded = await expandConnection(server(remote), machine);
  expect(expanded).toMatchObject({ oauth: { clientId: "app", clientSecret: "value", redirectPort: "8123" } });
});
