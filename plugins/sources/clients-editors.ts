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
  getVariable,
  programConfig,
  resolvePath,
  roaming,
} from "../lib/server-entry/machine.ts";
import { readContinue, readVscode, readZed } from "./readers.ts";

const mcpServers = readServers("mcpServers");

/** Forks of VS Code, which have the same folders for extensions. */
const vscodeForks = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];

function extensionFiles(machine: Machine, extension: string, file: string): readonly Location[] {
  const way = ["User", "globalStorage", extension, "settings", file];
  return vscodeForks.map((editor) => userFile(desktopData(machine), editor, ...way));
}

function clineFiles(machine: Machine): readonly Location[] {
  const file = "cline_mcp_settings.json";
  const named = getVariable(machine, "CLINE_MCP_SETTINGS_PATH");
  return [
    ...(named ? [userFile(resolvePath(named, machine))] : []),
    ...extensionFiles(machine, "saoudrizwan.claude-dev", file),
    userFile(machine.home, ".cline", "data", "settings", file),
  ];
}

function zedFile(machine: Machine): Location {
  const common = place(dotConfig(machine), "zed", "settings.json");
  return machine.platform === "win32"
    ? firstFile(place(roaming(machine), "Zed", "settings.json"), common)
    : firstFile(common);
}

function continueFiles(machine: Machine): readonly Location[] {
  const own = (...way: readonly string[]): Location => userFile(machine.home, ".continue", ...way);
  const endings = ["*.yaml", "*.yml", "*.json"];
  return [
    own("config.yaml"),
    own("config.json"),
    ...endings.map((ending) => own("mcpServers", ending)),
    ...endings.map((ending) => projectFile(machine, ".continue", "mcpServers", ending)),
  ];
}

/** Editors, and desktop applications besides Claude's. */
export const editors: readonly Source[] = [
  {
    name: "cursor",
    read: mcpServers,
    locations: (machine) => [
      userFile(machine.home, ".cursor", "mcp.json"),
      projectFile(machine, ".cursor", "mcp.json"),
    ],
  },
  {
    name: "vscode",
    read: readVscode,
    locations: (machine) => [
      ...["Code", "Code - Insiders", "VSCodium"].flatMap((editor) => [
        userFile(desktopData(machine), editor, "User", "mcp.json"),
        userFile(desktopData(machine), editor, "User", "profiles", "*", "mcp.json"),
      ]),
      projectFile(machine, ".vscode", "mcp.json"),
    ],
  },
  {
    name: "windsurf",
    read: mcpServers,
    locations: ({ home }) => [
      userFile(home, ".codeium", "windsurf", "mcp_config.json"),
      userFile(home, ".codeium", "mcp_config.json"),
      userFile(home, ".windsurf", "mcp.json"),
    ],
  },
  {
    name: "devin",
    read: mcpServers,
    locations: (machine) => [
      userFile(programConfig(machine), "devin", "mcp_config.json"),
      userFile(programConfig(machine), "devin", "config.json"),
      projectFile(machine, ".devin", "mcp_config.json"),
      projectFile(machine, ".devin", "config.local.json"),
      projectFile(machine, ".devin", "config.json"),
    ],
  },
  {
    name: "zed",
    read: readZed,
    locations: (machine) => [zedFile(machine), projectFile(machine, ".zed", "settings.json")],
  },
  {
    name: "antigravity",
    read: mcpServers,
    locations: ({ home }) => [userFile(home, ".gemini", "antigravity", "mcp_config.json")],
  },
  {
    name: "cline",
    read: mcpServers,
    dialect: { timeout: "call-s" },
    locations: clineFiles,
  },
  {
    name: "roo",
    read: mcpServers,
    dialect: { timeout: "call-s" },
    locations: (machine) => [
      ...extensionFiles(machine, "rooveterinaryinc.roo-cline", "mcp_settings.json"),
      projectFile(machine, ".roo", "mcp.json"),
    ],
  },
  {
    name: "continue",
    read: readContinue,
    locations: continueFiles,
  },
  {
    name: "lm-studio",
    read: mcpServers,
    dialect: { timeout: "call-ms" },
    locations: ({ home }) => [
      firstFile(place(home, ".lmstudio", "mcp.json"), place(home, ".cache", "lm-studio", "mcp.json")),
    ],
  },
  {
    name: "kiro",
    read: mcpServers,
    dialect: { timeout: "call-ms" },
    locations: (machine) => [
      userFile(machine.home, ".kiro", "settings", "mcp.json"),
      projectFile(machine, ".kiro", "settings", "mcp.json"),
    ],
  },
  {
    name: "trae",
    read: mcpServers,
    locations: (machine) => [userFile(desktopData(machine), "Trae", "User", "mcp.json")],
  },
  {
    name: "junie",
    read: mcpServers,
    locations: (machine) => [
      userFile(machine.home, ".junie", "mcp", "mcp.json"),
      projectFile(machine, ".junie", "mcp", "mcp.json"),
    ],
  },
  {
    name: "jetbrains-air",
    read: mcpServers,
    locations: (machine) => [projectFile(machine, ".air", "mcp.json")],
  },
];
