import { join } from "node:path";
import type { Machine } from "../../core/services/sources.ts";
import { type Location, project, type Source, serversAt, user } from "../../core/services/sources.ts";
import {
  dotConfig,
  folderOf,
  localAppData,
  pathFrom,
  programConfig,
  roaming,
  variable,
} from "../lib/server-entry/machine.ts";
import { claudeCode } from "./claude-code.ts";
import {
  codexServers,
  crushServers,
  geminiServers,
  gooseServers,
  opencodeServers,
  vibeServers,
} from "./readers.ts";

const mcpServers = serversAt("mcpServers");

function gooseFile(machine: Machine): Location {
  return machine.platform === "win32"
    ? user(roaming(machine), "Block", "goose", "config", "config.yaml")
    : user(dotConfig(machine), "goose", "config.yaml");
}

function opencodeFiles(machine: Machine): readonly Location[] {
  const names = ["opencode.json", "opencode.jsonc"];
  const own = variable(machine, "OPENCODE_CONFIG");
  const folders = [join(dotConfig(machine), "opencode")];
  if (machine.platform === "win32") folders.push(join(roaming(machine), "opencode"));
  const named = variable(machine, "OPENCODE_CONFIG_DIR");
  if (named) folders.unshift(pathFrom(named, machine));
  return [
    ...(own ? [user(pathFrom(own, machine))] : []),
    ...folders.flatMap((folder) => names.map((name) => user(folder, name))),
    ...names.map((name) => project(machine, name)),
    ...names.map((name) => project(machine, ".opencode", name)),
  ];
}

/** The agents that run in a terminal. */
export const agents: readonly Source[] = [
  claudeCode,
  {
    name: "codex",
    read: codexServers,
    locations: (machine) => [
      user(folderOf(machine, "CODEX_HOME", join(machine.home, ".codex")), "config.toml"),
      project(machine, ".codex", "config.toml"),
    ],
  },
  {
    name: "gemini-cli",
    read: geminiServers,
    dialect: { url: "sse", timeout: "call-ms" },
    locations: (machine) => [
      user(machine.home, ".gemini", "settings.json"),
      project(machine, ".gemini", "settings.json"),
    ],
  },
  {
    name: "copilot",
    read: mcpServers,
    dialect: { timeout: "call-ms" },
    locations: (machine) => [
      user(folderOf(machine, "COPILOT_HOME", join(machine.home, ".copilot")), "mcp-config.json"),
      project(machine, ".mcp.json"),
    ],
  },
  {
    name: "opencode",
    read: opencodeServers,
    dialect: { timeout: "start-ms" },
    locations: opencodeFiles,
  },
  {
    name: "goose",
    read: gooseServers,
    dialect: { timeout: "call-s" },
    locations: (machine) => [gooseFile(machine)],
  },
  {
    name: "amp",
    read: serversAt("amp.mcpServers"),
    locations: (machine) => [user(programConfig(machine), "amp", "settings.json")],
  },
  {
    name: "crush",
    read: crushServers,
    dialect: { timeout: "call-s" },
    locations: (machine) => [
      user(machine.platform === "win32" ? localAppData(machine) : dotConfig(machine), "crush", "crush.json"),
      project(machine, ".crush.json"),
      project(machine, "crush.json"),
    ],
  },
  {
    name: "kimi",
    read: mcpServers,
    locations: (machine) => [user(machine.home, ".kimi", "mcp.json")],
  },
  {
    name: "mistral-vibe",
    read: vibeServers,
    locations: (machine) => [
      user(folderOf(machine, "VIBE_HOME", join(machine.home, ".vibe")), "config.toml"),
      project(machine, ".vibe", "config.toml"),
    ],
  },
];
