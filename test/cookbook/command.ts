/**
 * A command: `toolpipe sizes` prints how many characters of JSON the definitions of each server take.
 *
 * { "plugins": ["./command.ts"] }
 */
import { configArgs, defineCommand, definePlugin } from "toolpipe";

const sizes = defineCommand({
  args: {
    server: { type: "positional", required: false, description: "The server; all by default" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  run: (given, context) =>
    context.open(given, async ({ catalog, services }) => {
      // Commands ask servers only if they need to: here, all of them.
      await services.servers?.refresh();
      const servers = given.server === undefined ? catalog.servers().map(({ id }) => id) : [given.server];
      const rows = servers.map((server) => ({
        server,
        tools: catalog.tools(server).length,
        characters: catalog.tools(server).reduce((sum, tool) => sum + JSON.stringify(tool).length, 0),
      }));
      const lines = rows.map(({ server, tools, characters }) => `${server}\t${tools}\t${characters}\n`);
      process.stdout.write(given.json ? `${JSON.stringify(rows)}\n` : lines.join(""));
      return rows.every(({ tools }) => tools > 0) ? 0 : 1;
    }),
});

export const sizesPlugin = definePlugin({
  name: "sizes",
  // In a plugin of several files, `load` imports the command, so that it is read only when it is called.
  commands: {
    sizes: { description: "Print how large the tools of each server are", load: async () => sizes },
  },
  setup() {},
});
