import { join } from "node:path";
import {
  firstFile,
  type Location,
  type Machine,
  place,
  projectFile,
  readServers,
  type Source,
  userFile,
} from "../../core/services/sources.ts";
import {
  desktopData,
  dotConfig,
  getFolder,
  getVariable,
  localAppData,
  programConfig,
  resolvePath,
  roaming,
} from "../lib/server-entry/machine.ts";
import { claudeCode } from "./claude-code.ts";
import { editors } from "./clients-editors.ts";
import { dockerMcp } from "./docker-mcp.ts";
import { readCodex, readCrush, readGemini, readGoose, readOpencode, readVibe } from "./readers.ts";

const mcpServers = readServers("mcpServers");
const DESKTOP_FILE = "claude_desktop_config.json";

function claudeDesktopFile(machine: Machine): Location {
  if (machine.platform === "win32") {
    const packaged = ["Packages", "Claude_*", "LocalCache", "Roaming", "Claude", DESKTOP_FILE];
    // The file of the store's installer counts before that of an older installer.
    return firstFile(
      place(localAppData(machine), ...packaged),
      place(roaming(machine), "Claude", DESKTOP_FILE),
    );
  }
  if (machine.platform === "darwin") return userFile(desktopData(machine), "Claude", DESKTOP_FILE);
  const config = dotConfig(machine);
  return firstFile(place(config, "Claude", DESKTOP_FILE), place(config, "claude", DESKTOP_FILE));
}

function gooseFile(machine: Machine): Location {
  return machine.platform === "win32"
    ? userFile(roaming(machine), "Block", "goose", "config", "config.yaml")
    : userFile(dotConfig(machine), "goose", "config.yaml");
}

function opencodeFiles(machine: Machine): readonly Location[] {
  const names = ["opencode.json", "opencode.jsonc"];
  const own = getVariable(machine, "OPENCODE_CONFIG");
  const folders = [join(dotConfig(machine), "opencode")];
  if (machine.platform === "win32") folders.push(join(roaming(machine), "opencode"));
  const named = getVariable(machine, "OPENCODE_CONFIG_DIR");
  if (named) folders.unshift(resolvePath(named, machine));
  return [
    ...(own ? [userFile(resolvePath(own, machine))] : []),
    ...folders.flatMap((folder) => names.map((name) => userFile(folder, name))),
    ...names.map((name) => projectFile(machine, name)),
    ...names.map((name) => projectFile(machine, ".opencode", name)),
  ];
}

/** Agents that run in a terminal. */
const agents: readonly Source[] = [
  claudeCode,
  {
    name: "codex",
    read: readCodex,
    locations: (machine) => [
      userFile(getFolder(machine, "CODEX_HOME", join(machine.home, ".codex")), "config.toml"),
      projectFile(machine, ".codex", "config.toml"),
    ],
  },
  {
    name: "gemini-cli",
    read: readGemini,
    dialect: { url: "sse", timeout: "call-ms" },
    locations: (machine) => [
      userFile(machine.home, ".gemini", "settings.json"),
      projectFile(machine, ".gemini", "settings.json"),
    ],
  },
  {
    name: "copilot",
    read: mcpServers,
    dialect: { timeout: "call-ms" },
    locations: (machine) => [
      userFile(getFolder(machine, "COPILOT_HOME", join(machine.home, ".copilot")), "mcp-config.json"),
      projectFile(machine, ".mcp.json"),
    ],
  },
  {
    name: "opencode",
    read: readOpencode,
    dialect: { timeout: "start-ms" },
    locations: opencodeFiles,
  },
  {
    name: "goose",
    read: readGoose,
    dialect: { timeout: "call-s" },
    locations: (machine) => [gooseFile(machine)],
  },
  {
    name: "amp",
    read: readServers("amp.mcpServers"),
    locations: (machine) => [userFile(programConfig(machine), "amp", "settings.json")],
  },
  {
    name: "crush",
    read: readCrush,
    dialect: { timeout: "call-s" },
    locations: (machine) => [
      userFile(
        machine.platform === "win32" ? localAppData(machine) : dotConfig(machine),
        "crush",
        "crush.json",
      ),
      projectFile(machine, ".crush.json"),
      projectFile(machine, "crush.json"),
    ],
  },
  {
    name: "kimi",
    read: mcpServers,
    locations: (machine) => [userFile(machine.home, ".kimi", "mcp.json")],
  },
  {
    name: "mistral-vibe",
    read: readVibe,
    locations: (machine) => [
      userFile(getFolder(machine, "VIBE_HOME", join(machine.home, ".vibe")), "config.toml"),
      projectFile(machine, ".vibe", "config.toml"),
    ],
  },
];

/** The clients whose servers are imported. If two define the same name, the earlier one counts. */
export const clients: readonly Source[] = [
  {
    name: "claude-desktop",
    read: mcpServers,
    locations: (machine) => [claudeDesktopFile(machine)],
  },
  ...agents,
  ...editors,
  dockerMcp,
];

/** The names of the clients. */
export const clientNames: readonly string[] = clients.map((client) => client.name);
