// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { expandConnection } from "../../../plugins/lib/server-entry/expand.ts";
import { clients } from "../../../plugins/sources/clients.ts";
import { collect } from "../../../plugins/sources/collect.ts";
import { writeFiles } from "../../support/temporary-folder.ts";
import { createMachine } from "./_machine.ts";

const CANARY = "canary-5f3a9c";

/** Values that hold the secret, whole or wrapped in something that cannot be used. */
const secret = fc.constantFrom<unknown>(
  CANARY,
  `Bearer ${CANARY}`,
  `\${UNSET}${CANARY}`,
  `${CANARY}\r\n${CANARY}`,
  `${CANARY}\0`,
  { [`nested`]: CANARY },
  [CANARY],
  [[CANARY]],
);
const urls = fc.constantFrom(
  `https://a.example/?key=${CANARY}`,
  `\${UNSET}/${CANARY}`,
  "${SET}",
  `bad ${CANARY}`,
  `ftp://${CANARY}`,
);
const headers = fc.oneof(
  fc.dictionary(fc.constantFrom("Authorization", "A B"), secret, { maxKeys: 1 }),
  secret,
);
const env = fc.oneof(fc.dictionary(fc.constantFrom("KEY", "A=B", ""), secret, { maxKeys: 1 }), secret);

/** One fault at a time, because only the first one is told. */
const entry = fc.oneof(
  urls.map((url) => ({ url })),
  headers.map((value) => ({ url: "https://a.example", headers: value })),
  env.map((value) => ({ command: "npx", env: value })),
  fc.oneof(fc.array(secret, { maxLength: 2 }), secret).map((args) => ({ command: "toolpipe", args })),
  fc.oneof(fc.array(secret, { maxLength: 2 }), secret).map((args) => ({ command: "npx", args })),
  fc
    .tuple(fc.constantFrom("command", "type", "cwd", "envFile", "timeout", "disabledTools", "tools"), secret)
    .map(([key, value]) => ({ command: "npx", [key]: value })),
);

test("no warning, reason or error holds a secret, wherever it stands", async () => {
  const machine = await createMachine({}, { env: { SET: CANARY } });
  const servers = fc.dictionary(fc.constantFrom("a", "b", "c"), entry);
  await fc.assert(
    fc.asyncProperty(servers, servers, async (one, two) => {
      await writeFiles(join(machine.home, ".cursor"), { "mcp.json": JSON.stringify({ mcpServers: one }) });
      await writeFiles(join(machine.home, ".kimi"), { "mcp.json": JSON.stringify({ mcpServers: two }) });
      const collected = await collect(clients, machine);
      expect(JSON.stringify([collected.warnings, collected.files])).not.toContain(CANARY);
      for (const config of collected.servers) {
        const error = await expandConnection(config, machine).catch((thrown: unknown) => thrown);
        // The path of an envFile is a place, and places are named.
        const namesPath = config.connection.type === "stdio" && config.connection.envFile !== undefined;
        if (!(error instanceof Error) || namesPath) continue;
        expect(JSON.stringify([error, error.message])).not.toContain(CANARY);
      }
    }),
    { numRuns: 150 },
  );
});

test.for([
  ["home/.cursor/mcp.json", `{ "mcpServers": { "a": { "env": { "KEY": "${CANARY}" } }`],
  ["home/.cursor/mcp.json", `{ "mcpServers": { "a": { "env": { "KEY": ${CANARY} } } } }`],
  ["home/.config/goose/config.yaml", `extensions:\n  a: {envs: {KEY: "${CANARY}"}\n  b: *${CANARY}\n`],
  ["home/.config/goose/config.yaml", `extensions:\n  a: *${CANARY}\n`],
  ["home/.codex/config.toml", `[mcp_servers.a]\nenv = { KEY = "${CANARY}" \n`],
  ["home/.codex/config.toml", `[mcp_servers.a]\nenv = { KEY = ${CANARY} }\n`],
] as const)("a broken file is told of without its text (%s, %#)", async ([path, text]) => {
  const { files } = await collect(clients, await createMachine({ [path]: text }));
  const broken = files.filter(({ status }) => status === "broken");
  expect(broken).toHaveLength(1);
  expect(JSON.stringify(broken)).not.toContain(CANARY);
});
