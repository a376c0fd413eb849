import { GatewayError } from "../../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../../core/services/command.ts";
import type { HttpConnection } from "../../../core/services/sources.ts";
import { stateFolder } from "../../lib/folders.ts";
import { expandConnection } from "../../lib/server-entry/expand.ts";
import { thisMachine } from "../../lib/server-entry/machine.ts";
import {
  askableServers,
  askServers,
  checkServer,
  findServerError,
  isHeld,
  showWaiting,
} from "../../lib/servers.ts";
import { output } from "../../lib/terminal/output.ts";
import { openBrowser } from "../../lib/terminal/process.ts";
import { oauthSettings } from "../mod.ts";

/** Lets the user log in to a remote server. */
export const login: Command = defineCommand({
  args: {
    server: { type: "positional", required: true, description: "The server" },
    browser: {
      type: "boolean",
      default: true,
      description: "Open the browser; --no-browser only prints the address",
    },
    json: { type: "boolean", description: "Print JSON; the address still goes to standard error" },
    ...configArgs,
  },
  async run(given, context) {
    return context.open(given, async (gateway) => {
      checkServer(gateway, given.server);
      const status = gateway.services.servers?.status(given.server);
      const { type } = status?.config.connection ?? { type: "stdio" };
      if (!status || type === "stdio") {
        const message = `The server "${given.server}" is not a remote one: it needs no login.`;
        throw new GatewayError("CONFIG_INVALID", message);
      }
      // Its address and headers are not to be used before they are approved.
      if (isHeld(status)) throw findServerError(gateway, given.server);
      const connection = (await expandConnection(status.config, thisMachine())) as HttpConnection;
      const { authorize } = await import("../oauth/login.ts");
      let done = showWaiting(`Asking "${given.server}" where to log in …`);
      const { issuer } = await authorize(connection, {
        name: given.server,
        stateFolder: stateFolder(),
        oauth: oauthSettings(connection),
        onUrl(url) {
          done();
          process.stderr.write(`Log in here: ${url}\n`);
          done = showWaiting("Waiting for your browser …");
        },
        openBrowser: given.browser ? openBrowser : undefined,
      }).finally(() => done());
      output(
        given.json,
        { loggedIn: given.server, issuer },
        () => `✓ Logged in to ${given.server} (by ${issuer})\n`,
      );
      await askServers(gateway, askableServers(gateway, given.server));
      const trouble = findServerError(gateway, given.server);
      if (trouble) throw trouble;
    });
  },
});
