import type { Machine } from "../../core/services/sources.ts";
import {
  firstOf,
  type Location,
  place,
  project,
  type Source,
  serversAt,
  user,
} from "../../core/services/sources.ts";
import {
  desktopData,
  dotConfig,
  pathFrom,
  programConfig,
  roaming,
  variable,
} from "../lib/server-entry/machine.ts";
import { continueServers, vscodeServers, zedServers } from "./readers.ts";

const mcpServers = serversAt("mcpServers");

/** Editors made from VS Code, which keep what extensions store in the same way. */
const vscodeKin = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];

function extensionFiles(machine: Machine, extension: string, file: string): readonly Location[] {
  const way = ["User", "globalStorage", extension, "settings", file];
  return vscodeKin.map((editor) => user(desktopData(machine), editor, ...way));
}

function clineFiles(machine: Machine): readonly Location[] {
  const file = "cline_mcp_settings.json";
  const named = variable(machine, "CLINE_MCP_SETTINGS_PATH");
  return [
    ...(named ? [user(pathFrom(named, machine))] : []),
    ...extensionFiles(machine, "saoudrizwan.claude-dev", file),
    user(machine.home, ".cline", "data", "settings", file),
  ];
}

function zedFile(machine: Machine): Location {
  const common = place(dotConfig(machine), "zed", "settings.json");
  return machine.platform === "win32"
    ? firstOf(place(roaming(machine), "Zed", "settings.json"), common)
    : firstOf(common);
}

function continueFiles(machine: Machine): readonly Location[] {
  const own = (...way: readonly string[]): Location => user(machine.home, ".continue", ...way);
  const endings = ["*.yaml", "*.yml", "*.json"];
  return [
    own("config.yaml"),
    own("config.json"),
    ...endings.map((ending) => own("mcpServers", ending)),
    ...endings.map((ending) => project(machine, ".continue", "mcpServers", ending)),
  ];
}

/** The editors, and desktop applications besides Claude's. */
export const editors: readonly Source[] = [
  {
    name: "cursor",
    read: mcpServers,
    locations: (machine) => [
      user(machine.home, ".cursor", "mcp.json"),
      project(machine, ".cursor", "mcp.json"),
    ],
  },
  {
    name: "vscode",
    read: vscodeServers,
    locations: (machine) => [
      ...["Code", "Code - Insiders", "VSCodium"].flatMap((editor) => [
        user(desktopData(machine), editor, "User", "mcp.json"),
        user(desktopData(machine), editor, "User", "profiles", "*", "mcp.json"),
      ]),
      project(machine, ".vscode", "mcp.json"),
    ],
  },
  {
    name: "windsurf",
    read: mcpServers,
    locations: ({ home }) => [
      user(home, ".codeium", "windsurf", "mcp_config.json"),
      user(home, ".codeium", "mcp_config.json"),
      user(home, ".windsurf", "mcp.json"),
    ],
  },
  {
    name: "devin",
    read: mcpServers,
    locations: (machine) => [
      user(programConfig(machine), "devin", "mcp_config.json"),
      user(programConfig(machine), "devin", "config.json"),
      project(machine, ".devin", "mcp_config.json"),
      project(machine, ".devin", "config.local.json"),
      project(machine, ".devin", "config.json"),
    ],
  },
  {
    name: "zed",
    read: zedServers,
    locations: (machine) => [zedFile(machine), project(machine, ".zed", "settings.json")],
  },
  {
    name: "antigravity",
    read: mcpServers,
    locations: ({ home }) => [user(home, ".gemini", "antigravity", "mcp_config.json")],
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
      project(machine, ".roo", "mcp.json"),
    ],
  },
  {
    name: "continue",
    read: continueServers,
    locations: continueFiles,
  },
  {
    name: "lm-studio",
    read: mcpServers,
    dialect: { timeout: "call-ms" },
    locations: ({ home }) => [
      firstOf(place(home, ".lmstudio", "mcp.json"), place(home, ".cache", "lm-studio", "mcp.json")),
    ],
  },
  {
    name: "kiro",
    read: mcpServers,
    dialect: { timeout: "call-ms" },
    locations: (machine) => [
      user(machine.home, ".kiro", "settings", "mcp.json"),
      project(machine, ".kiro", "settings", "mcp.json"),
    ],
  },
  {
    name: "trae",
    read: mcpServers,
    locations: (machine) => [user(desktopData(machine), "Trae", "User", "mcp.json")],
  },
  {
    name: "junie",
    read: mcpServers,
    locations: (machine) => [
      user(machine.home, ".junie", "mcp", "mcp.json"),
      project(machine, ".junie", "mcp", "mcp.json"),
    ],
  },
  {
    name: "jetbrains-air",
    read: mcpServers,
    locations: (machine) => [project(machine, ".air", "mcp.json")],
  },
];
