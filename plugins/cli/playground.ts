import type { Tool } from "../../core/mod.ts";
import { type Command, type ConfigChoice, configArgs, defineCommand } from "../../core/services/command.ts";
import { type Playground, servePlayground } from "../../playground/server.ts";
import { untilTold } from "../lib/terminal/interrupt.ts";
import { openBrowser } from "../lib/terminal/open-browser.ts";
import { usageError } from "../lib/terminal/output.ts";
import { askableServers, askServers, unknownServers } from "../lib/terminal/servers.ts";
import { loadCliConfig, openGateway } from "./context.ts";

/** The port where none is named; any other where it is taken. */
const PORT = 7070;

/** Serves a page for ranking experiments. */
export const playground: Command = defineCommand({
  args: {
    port: { type: "string", description: `The port (${PORT} if none is named)`, valueHint: "N" },
    tools: { type: "string", description: "A catalog: one tool as JSON a line", valueHint: "FILE" },
    queries: { type: "string", description: "Labelled queries: one as JSON a line", valueHint: "FILE" },
    ranker: { type: "string", description: "The path of a ranker of your own to try", valueHint: "FILE" },
    open: { type: "boolean", description: "Open the page in the browser" },
    ...configArgs,
  },
  async run({ port, tools, queries, ranker, open: show, ...given }) {
    for (const [name, value] of Object.entries({ tools, queries, ranker })) {
      if (value === "") throw usageError(`The option --${name} needs a value.`);
    }
    // A config that cannot be used is told here, not on the page.
    await loadCliConfig(given);
    const live = (ask: boolean): Promise<readonly Tool[]> => liveTools(given, ask);
    const rankers = ranker === undefined ? [] : [ranker];
    const open = (at: number): Promise<Playground> =>
      servePlayground({ port: at, tools, queries, rankers, live });
    const { url, close } =
      port === undefined ? await open(PORT).catch(orElse(open)) : await open(portOf(port));
    process.stderr.write(`toolpipe: the playground is at ${url} (Ctrl+C ends it)\n`);
    if (show) openBrowser(url);
    await untilTold();
    await close();
    // Whatever a plugin left open must not keep the process.
    process.exit(0);
  },
});

/** Opens what could not be opened at a port that is taken at any that is not. */
function orElse(open: (port: number) => Promise<Playground>): (thrown: unknown) => Promise<Playground> {
  return (thrown) => {
    if ((thrown as { cause?: { code?: unknown } }).cause?.code === "EADDRINUSE") return open(0);
    throw thrown;
  };
}

function portOf(given: string): number {
  const port = Number(given);
  if (given === "" || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw usageError("The option --port needs a port.");
  return port;
}

/** What an agent could find now. Servers are asked only where nothing is remembered of them, or where that is wanted. */
async function liveTools(given: ConfigChoice, ask: boolean): Promise<readonly Tool[]> {
  return openGateway(given, async (gateway) => {
    await askServers(gateway, ask ? askableServers(gateway) : unknownServers(gateway));
    return gateway.catalog.tools().filter(({ enabled }) => enabled);
  });
}
