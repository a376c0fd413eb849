import type { Tool } from "../../core/mod.ts";
import { type ConfigChoice, configArgs, defineCommand } from "../../core/services/command.ts";
import { type Playground, servePlayground } from "../../playground/server.ts";
import { askableServers, askServers, unknownServers } from "../lib/servers.ts";
import { usageError } from "../lib/terminal/output.ts";
import { openBrowser, untilSignal } from "../lib/terminal/process.ts";
import { isPortTaken, loadCliConfig, openGateway, parsePort } from "./context.ts";

/** Default port; if it is taken, any free one is used. */
const PORT = 7070;

/** Serves a page for ranking experiments. */
export const command = defineCommand({
  args: {
    port: { type: "string", description: `The port (${PORT} by default)`, valueHint: "N" },
    tools: { type: "string", description: "A catalog: one tool as JSON a line", valueHint: "FILE" },
    queries: { type: "string", description: "Labelled queries: one as JSON a line", valueHint: "FILE" },
    ranker: { type: "string", description: "Path of your own ranker", valueHint: "FILE" },
    open: { type: "boolean", description: "Open the page in the browser" },
    ...configArgs,
  },
  async run({ port, tools, queries, ranker, open: show, ...given }) {
    for (const [name, value] of Object.entries({ tools, queries, ranker })) {
      if (value === "") throw usageError(`The option --${name} needs a value.`);
    }
    // A broken config is reported here, not on the page.
    await loadCliConfig(given);
    const live = (ask: boolean): Promise<readonly Tool[]> => listLiveTools(given, ask);
    const rankers = ranker === undefined ? [] : [ranker];
    const open = (at: number): Promise<Playground> =>
      servePlayground({ port: at, tools, queries, rankers, live });
    const { url, close } =
      port === undefined
        ? await open(PORT).catch((thrown) => {
            if (isPortTaken(thrown)) return open(0);
            throw thrown;
          })
        : await open(parsePort(port, "--port"));
    process.stderr.write(`toolpipe: the playground is at ${url} (Ctrl+C ends it)\n`);
    if (show) openBrowser(url);
    await untilSignal();
    await close();
    // Handles that a plugin left open must not keep the process alive.
    process.exit(0);
  },
});

/** Lists the enabled tools. Servers are asked if they have no cached listing, or if `ask` is set. */
async function listLiveTools(given: ConfigChoice, ask: boolean): Promise<readonly Tool[]> {
  return openGateway(given, async (gateway) => {
    await askServers(gateway, ask ? askableServers(gateway) : unknownServers(gateway));
    return gateway.catalog.tools().filter(({ enabled }) => enabled);
  });
}
