import { join } from "node:path";
import type { Machine } from "../../core/services/sources.ts";
import {
  entriesIn,
  mapEntries,
  objectAt,
  place,
  project,
  type Reader,
  type Source,
  stringsIn,
  user,
} from "../../core/services/sources.ts";
import { folderOf } from "../lib/server-entry/machine.ts";

/** The settings of one project in Claude Code's own file. It writes paths with slashes, on Windows too. */
function settingsOf(state: unknown, machine: Machine): Readonly<Record<string, unknown>> {
  const plain = (path: string): string => {
    const slashed = path.replaceAll("\\", "/").replace(/(?<=[^/])\/$/, "");
    return machine.platform === "win32" ? slashed.toLowerCase() : slashed;
  };
  const projects = objectAt(state, "projects");
  const key = Object.keys(projects).find((path) => plain(path) === plain(machine.project));
  return key === undefined ? {} : objectAt(projects, key);
}

/** A person's servers: those for this project first, as Claude Code has it. */
const ownServers: Reader = (data, { machine }) => {
  const settings = settingsOf(data, machine);
  const off = stringsIn(settings["disabledMcpServers"]);
  const servers = [
    ...entriesIn(settings["mcpServers"], "projects.*.mcpServers"),
    ...entriesIn(data["mcpServers"], "mcpServers"),
  ];
  return {
    servers: mapEntries(servers, (entry, name) =>
      off.includes(String(name)) ? { ...entry, disabled: true } : entry,
    ),
  };
};

/** The project's servers. A person may have refused some there; what they allowed there is not looked at. */
const projectServers: Reader = (data, { machine, beside }) => {
  const settings = [
    ...(beside["settings"] ?? []),
    ...(beside["state"] ?? []).map((state) => settingsOf(state, machine)),
  ];
  const off = settings.flatMap((one) => stringsIn(objectAt(one)["disabledMcpjsonServers"]));
  return {
    servers: mapEntries(entriesIn(data["mcpServers"], "mcpServers"), (entry, name) =>
      off.includes(String(name)) ? { ...entry, disabled: true } : entry,
    ),
  };
};

/** Claude Code: user, local and project scope. */
export const claudeCode: Source = {
  name: "claude-code",
  read: ownServers,
  locations(machine) {
    const own = folderOf(machine, "CLAUDE_CONFIG_DIR", machine.home);
    const folder = folderOf(machine, "CLAUDE_CONFIG_DIR", join(machine.home, ".claude"));
    return [
      user(own, ".claude.json"),
      {
        ...project(machine, ".mcp.json"),
        read: projectServers,
        beside: {
          state: [place(own, ".claude.json")],
          settings: [
            place(machine.project, ".claude", "settings.local.json"),
            place(machine.project, ".claude", "settings.json"),
            place(folder, "settings.json"),
          ],
        },
      },
    ];
  },
};
