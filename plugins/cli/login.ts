import type { CommandDef } from "citty";
import { GatewayError } from "../../core/mod.ts";
import { expandConnection, type HttpConnection, thisMachine } from "../sources/mod.ts";
import { stateFolder } from "../state/mod.ts";
import { oauthSettings } from "../upstreams/connect.ts";
import { withCatalog } from "./_catalog.ts";
import { command } from "./_command.ts";
import { configArgs } from "./_gateway.ts";
import { openBrowser } from "./_open-browser.ts";
import { output } from "./_output.ts";
import { askableServers, askServers, checkServer, isHeld, troubleOf, waitingLine } from "./_servers.ts";

/** Lets a person log in to a remote server. */
export const login: CommandDef = command({
  name: "login",
  description: "Log in to a remote server in your browser",
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
  async run(given) {
    return withCatalog(given, async (gateway) => {
      checkServer(gateway, given.server);
      const status = gateway.services.upstreams?.status(given.server);
      const { type } = status?.config.connection ?? { type: "stdio" };
      if (!status || type === "stdio") {
        const message = `The server "${given.server}" is not a remote one: it needs no login.`;
        throw new GatewayError("CONFIG_INVALID", message);
      }
      // Its address and headers are not to be used before they are approved.
      if (isHeld(status)) throw troubleOf(gateway, given.server);
      const connection = (await expandConnection(status.config, thisMachine())) as HttpConnection;
      const { authorize } = await import("../upstreams/oauth-login.ts");
      let done = waitingLine(`Asking "${given.server}" where to log in …`);
      const { issuer } = await authorize(connection, {
        name: given.server,
        stateFolder: stateFolder(),
        oauth: oauthSettings(connection),
        onUrl(url) {
          done();
          process.stderr.write(`Log in here: ${url}\n`);
          done = waitingLine("Waiting for your browser …");
        },
        openBrowser: given.browser ? openBrowser : undefined,
      }).finally(() => done());
      output(
        given.json,
        { loggedIn: given.server, issuer },
        () => `✓ Logged in to ${given.server} (by ${issuer})\n`,
      );
      await askServers(gateway, askableServers(gateway, given.server));
      const trouble = troubleOf(gateway, given.server);
      if (trouble) throw trouble;
    });
  },
});
