import type { Machine } from "../../core/services/sources.ts";
import { firstOf, type Location, place, type Source, serversAt, user } from "../../core/services/sources.ts";
import { desktopData, dotConfig, localAppData, roaming } from "../lib/server-entry/machine.ts";
import { agents } from "./clients-agents.ts";
import { editors } from "./clients-editors.ts";
import { dockerMcp } from "./docker-mcp.ts";

const mcpServers = serversAt("mcpServers");
const DESKTOP_FILE = "claude_desktop_config.json";

function claudeDesktopFile(machine: Machine): Location {
  if (machine.platform === "win32") {
    const packaged = ["Packages", "Claude_*", "LocalCache", "Roaming", "Claude", DESKTOP_FILE];
    // What the installer from the store writes hides what an older one left behind.
    return firstOf(
      place(localAppData(machine), ...packaged),
      place(roaming(machine), "Claude", DESKTOP_FILE),
    );
  }
  if (machine.platform === "darwin") return user(desktopData(machine), "Claude", DESKTOP_FILE);
  const config = dotConfig(machine);
  return firstOf(place(config, "Claude", DESKTOP_FILE), place(config, "claude", DESKTOP_FILE));
}

/** Every client whose servers are imported. Where two define the same name, the earlier one counts. */
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
