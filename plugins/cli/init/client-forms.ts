import { realpathSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "../../../core/mod.ts";

/** Format of server entries in the file of a client. */
export interface ClientForm {
  /** Key of the servers. */
  readonly key: string;
  /** Key of the variables in an entry. */
  readonly envKey: string;
  entry(launch: Launch, env: Readonly<Record<string, string>>): JsonObject;
}

const plain: ClientForm = {
  key: "mcpServers",
  envKey: "env",
  entry: (launch, env) => ({ ...launch, ...toEnv(env) }),
};

function toEnv(env: Readonly<Record<string, string>>): JsonObject {
  return Object.keys(env).length > 0 ? { env } : {};
}

/** Clients with another format than most. */
const forms: Readonly<Record<string, ClientForm>> = {
  "claude-code": { ...plain, entry: (launch, env) => ({ type: "stdio", ...plain.entry(launch, env) }) },
  copilot: {
    ...plain,
    // Without this list, no tool could be called.
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

/** Finds the format of a client; undefined for one that cannot start toolpipe. */
export function findForm(client: string): ClientForm | undefined {
  if (client === "docker-mcp") return undefined;
  return Object.hasOwn(forms, client) ? forms[client] : plain;
}

/** Checks if a file can be edited without changing the rest of it. */
export function isJsonFile(file: string): boolean {
  return /^\.jsonc?$/.test(extname(file).toLowerCase());
}

/** Renders the entry that the user pastes into a file, whose comments and layout toolpipe would lose. */
export function renderPaste(client: string, file: string, launch: Launch, env: readonly string[]): string {
  const command = JSON.stringify(launch.command);
  const args = `[${launch.args.map((arg) => JSON.stringify(arg)).join(", ")}]`;
  // A string in double quotes is the same in JSON, TOML and YAML.
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
  return (own ?? [`"toolpipe": ${JSON.stringify(findForm(client)?.entry(launch, {}) ?? {})}`]).join("\n");
}

/** Command line of a server. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

/** Returns the command line of this toolpipe: the package from the registry, or the running clone. */
export function getLaunch(platform: NodeJS.Platform = process.platform, own: string = findOwnFile()): Launch {
  if (/[\\/]node_modules[\\/]/.test(own)) {
    // On Windows npx is a script, and not every client can start one.
    return platform === "win32"
      ? { command: "cmd", args: ["/c", "npx", "-y", "toolpipe"] }
      : { command: "npx", args: ["-y", "toolpipe"] };
  }
  const isDeno = "Deno" in globalThis;
  return { command: process.execPath, args: [...(isDeno ? ["run", "-A"] : []), own] };
}

/** Adds the arguments that serve a config. */
export function addServeArgs(config: string, launch: Launch = getLaunch()): Launch {
  return { command: launch.command, args: [...launch.args, "serve", "--config", config] };
}

function findOwnFile(): string {
  const here = fileURLToPath(import.meta.url);
  return realpathSync(fileURLToPath(new URL(`../toolpipe${extname(here)}`, import.meta.url)));
}
