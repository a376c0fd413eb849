import { type Command, configArgs, defineCommand } from "../../core/services/command.ts";
import { troubleOf } from "../lib/servers.ts";
import { counted, output } from "../lib/terminal/output.ts";
import {
  askableServers,
  askServers,
  checkServer,
  isHeld,
  noServers,
  serversOf,
  statusesOf,
} from "../lib/terminal/servers.ts";
import { openGateway } from "./context.ts";

/** A server could not be asked. */
const FAILED = 3;

/** Asks servers for their tools anew. */
export const refresh: Command = defineCommand({
  args: {
    server: { type: "positional", required: false, description: "Only this server" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run({ server, ...given }) {
    return openGateway(given, async (gateway) => {
      if (server !== undefined) checkServer(gateway, server);
      const meant = server === undefined ? undefined : gateway.services.servers?.status(server);
      if (meant && isHeld(meant)) throw troubleOf(gateway, meant.name);
      await askServers(gateway, askableServers(gateway, server));
      const asked = serversOf(gateway).filter(({ name }) => server === undefined || name === server);
      output(given.json, { servers: asked }, () => {
        const lines = asked.map(({ name, status, reason, toolCount }) =>
          status === "connected" ? `✓ ${name}: ${counted(toolCount, "tool")}` : `✗ ${name}: ${reason}`,
        );
        return lines.length === 0 ? noServers(gateway) : `${lines.join("\n")}\n`;
      });
      const held = new Set(statusesOf(gateway).flatMap((status) => (isHeld(status) ? [status.name] : [])));
      // Whoever means all servers knows which of them must not be asked.
      return asked.every(({ name, status }) => status === "connected" || held.has(name)) ? 0 : FAILED;
    });
  },
});
