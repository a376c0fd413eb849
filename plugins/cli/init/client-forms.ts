import { extname } from "node:path";
import type { JsonObject } from "../../../core/mod.ts";
import type { Launch } from "./launch.ts";

/** How a client writes its servers, where toolpipe becomes one of them. */
export interface ClientForm {
  /** The key of its map of servers. */
  readonly key: string;
  /** The key under which one of them gets variables. */
  readonly envKey: string;
  entry(launch: Launch, env: Readonly<Record<string, string>>): JsonObject;
}

const plain: ClientForm = {
  key: "mcpServers",
  envKey: "env",
  entry: (launch, env) => ({ ...launch, ...envOf(env) }),
};

function envOf(env: Readonly<Record<string, string>>): JsonObject {
  return Object.keys(env).length > 0 ? { env } : {};
}

/** Those that write a server in another way than most. */
const forms: Readonly<Record<string, ClientForm>> = {
  "claude-code": { ...plain, entry: (launch, env) => ({ type: "stdio", ...plain.entry(launch, env) }) },
  copilot: {
    ...plain,
    // Without its list of tools it would let none of them be called.
    entry: (launch, env) => ({ type: "local", ...plain.entry(launch, env), tools: ["*"] }),
  },
  vscode: {
    ...plain,
    key: "servers",
    entry: (launch, env) => ({ type: "stdio", ...plain.entry(launch, env) }),
  },
  zed: { ...plain, key: "context_servers" },
  amp: { ...plain, key: "amp.mcpServers" },
  crush: { ...plain, key: "mcp", entry: (launch, env) => ({ type: "stdio", ...plain.entry(launch, env) }) },
  opencode: {
    key: "mcp",
    envKey: "environment",
    entry: ({ command, args }, env) => ({
      type: "local",
      command: [command, ...args],
      enabled: true,
      ...(Object.keys(env).length > 0 && { environment: env }),
    }),
  },
};

/** The form of a client; none for one that cannot start toolpipe. */
export function formOf(client: string): ClientForm | undefined {
  if (client === "docker-mcp") return undefined;
  return Object.hasOwn(forms, client) ? forms[client] : plain;
}

/** Whether a file can be changed in place without touching the rest of it. */
export function isJsonFile(file: string): boolean {
  return /^\.jsonc?$/.test(extname(file).toLowerCase());
}

/** What a person pastes into a file that toolpipe does not write, because comments and layout would be lost. */
export function pasteFor(client: string, file: string, launch: Launch, env: readonly string[]): string {
  const command = JSON.stringify(launch.command);
  const args = `[${launch.args.map((arg) => JSON.stringify(arg)).join(", ")}]`;
  // A text in double quotes is the same in JSON, TOML and YAML.
  const names = `[${env.map((name) => JSON.stringify(name)).join(", ")}]`;
  const lines: Readonly<Record<string, readonly string[]>> = {
    codex: [
      "[mcp_servers.toolpipe]",
      `command = ${command}`,
      `args = ${args}`,
      ...(env.length > 0 ? [`env_vars = ${names}`] : []),
    ],
    "mistral-vibe": [
      "[[mcp_servers]]",
      'name = "toolpipe"',
      'transport = "stdio"',
      `command = ${command}`,
      `args = ${args}`,
    ],
    goose: [
      "extensions:",
      "  toolpipe:",
      "    enabled: true",
      "    type: stdio",
      "    name: toolpipe",
      `    cmd: ${command}`,
      `    args: ${args}`,
      ...(env.length > 0 ? [`    env_keys: ${names}`] : []),
    ],
    continue: ["mcpServers:", "  - name: toolpipe", `    command: ${command}`, `    args: ${args}`],
  };
  const own = Object.hasOwn(lines, client) && !isJsonFile(file) ? lines[client] : undefined;
  return (own ?? [`"toolpipe": ${JSON.stringify(formOf(client)?.entry(launch, {}) ?? {})}`]).join("\n");
}
