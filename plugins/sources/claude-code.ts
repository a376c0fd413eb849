import { join } from "node:path";
import {
  filterStrings,
  getObject,
  listEntries,
  type Machine,
  mapEntries,
  place,
  projectFile,
  type Reader,
  type Source,
  userFile,
} from "../../core/services/sources.ts";
import { getFolder } from "../lib/server-entry/machine.ts";

/** Finds the settings of the project in Claude Code's own file, which has slashes in paths, on Windows too. */
function findSettings(state: unknown, machine: Machine): Readonly<Record<string, unknown>> {
  const plain = (path: string): string => {
    const slashed = path.replaceAll("\\", "/").replace(/(?<=[^/])\/$/, "");
    return machine.platform === "win32" ? slashed.toLowerCase() : slashed;
  };
  const projects = getObject(state, "projects");
  const key = Object.keys(projects).find((path) => plain(path) === plain(machine.project));
  return key === undefined ? {} : getObject(projects, key);
}

/** Reads the user's servers: those for this project first, as in Claude Code. */
const readUserServers: Reader = (data, { machine }) => {
  const settings = findSettings(data, machine);
  const off = filterStrings(settings["disabledMcpServers"]);
  const servers = [
    ...listEntries(settings["mcpServers"], "projects.*.mcpServers"),
    ...listEntries(data["mcpServers"], "mcpServers"),
  ];
  return {
    servers: mapEntries(servers, (entry, name) =>
      off.includes(String(name)) ? { ...entry, disabled: true } : entry,
    ),
  };
};

/** Reads the project's servers. Those that the user refused in Claude Code are disabled; its approvals do not count. */
const readProjectServers: Reader = (data, { machine, beside }) => {
  const settings = [
    ...(beside["settings"] ?? []),
    ...(beside["state"] ?? []).map((state) => findSettings(state, machine)),
  ];
  const off = settings.flatMap((one) => filterStrings(getObject(one)["disabledMcpjsonServers"]));
  return {
    servers: mapEntries(listEntries(data["mcpServers"], "mcpServers"), (entry, name) =>
      off.includes(String(name)) ? { ...entry, disabled: true } : entry,
    ),
  };
};

/** Claude Code: user, local and project scope. */
export const claudeCode: Source = {
  name: "claude-code",
  read: readUserServers,
  locations(machine) {
    const own = getFolder(machine, "CLAUDE_CONFIG_DIR", machine.home);
    const folder = getFolder(machine, "CLAUDE_CONFIG_DIR", join(machine.home, ".claude"));
    return [
      userFile(own, ".claude.json"),
      {
        ...projectFile(machine, ".mcp.json"),
        read: readProjectServers,
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
