import { configArgs, defineCommand } from "../../core/services/command.ts";
import {
  askableServers,
  askServers,
  checkServer,
  explainNoServers,
  findServerError,
  isHeld,
  listServerRows,
  listStatuses,
} from "../lib/servers.ts";
import { formatCount, output } from "../lib/terminal/output.ts";
import { openGateway } from "./context.ts";

/** Exit code if a server failed. */
const FAILED = 3;

/** Lists the tools of servers again. */
export const command = defineCommand({
  args: {
    server: { type: "positional", required: false, description: "Only this server" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run({ server, ...given }) {
    return openGateway(given, async (gateway) => {
      if (server !== undefined) checkServer(gateway, server);
      const chosen = server === undefined ? undefined : gateway.services.servers?.status(server);
      if (chosen && isHeld(chosen)) throw findServerError(gateway, chosen.name);
      await askServers(gateway, askableServers(gateway, server));
      const asked = listServerRows(gateway).filter(({ name }) => server === undefined || name === server);
      output(given.json, { servers: asked }, () => {
        const lines = asked.map(({ name, status, reason, toolCount }) =>
          status === "connected" ? `✓ ${name}: ${formatCount(toolCount, "tool")}` : `✗ ${name}: ${reason}`,
        );
        return lines.length === 0 ? explainNoServers(gateway) : `${lines.join("\n")}\n`;
      });
      const held = new Set(listStatuses(gateway).flatMap((status) => (isHeld(status) ? [status.name] : [])));
      // Servers that are off or not approved are no failure of `refresh`.
      return asked.every(({ name, status }) => status === "connected" || held.has(name)) ? 0 : FAILED;
    });
  },
});
