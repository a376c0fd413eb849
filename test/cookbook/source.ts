/**
 * A source: reads the servers that a team lists in `team-servers.json` of a project, as names with command lines.
 *
 * { "sources": [{ "type": "./source.ts" }] }
 *
 * { "team": { "notes": "npx -y notes-mcp", "search": "https://search.example/mcp" } }
 */
import { GatewayError } from "toolpipe";
import { projectFile, type Source } from "toolpipe/services";

export const source: Source = {
  name: "team",
  // The file belongs to a project, so that a user approves its servers before they start.
  locations: (machine) => [projectFile(machine, "team-servers.json")],
  read({ team = {} }) {
    if (typeof team !== "object" || team === null)
      throw new GatewayError("CONFIG_INVALID", '"team" is not an object of servers.');
    return {
      servers: Object.entries(team).map(([name, line]) => {
        if (typeof line !== "string" || line.trim() === "")
          return { name, entry: line, reason: "it is no command line and no URL" };
        if (/^https?:/.test(line)) return { name, entry: { url: line } };
        const [command, ...args] = line.trim().split(/\s+/);
        return { name, entry: { command, args } };
      }),
    };
  },
};
