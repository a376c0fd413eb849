import { errorKinds, type Gateway, GatewayError, type LoadedConfig } from "../../../core/mod.ts";
import { configArgs, defineCommand } from "../../../core/services/command.ts";
import { listStatuses } from "../../lib/servers.ts";
import { output } from "../../lib/terminal/output.ts";
import { toolpipeProgram } from "../commands.ts";
import { openGateway } from "../context.ts";

const args = { json: { type: "boolean", description: "Print JSON" }, ...configArgs } as const;

/** Checks the config. */
export const command = defineCommand({
  args,
  async run(given) {
    try {
      const reported: string[] = [];
      const adjust = (config: LoadedConfig): LoadedConfig => ({
        ...config,
        onReport: ({ code, message }) =>
          void (code === errorKinds.PLUGIN_INVALID.code && reported.push(message)),
      });
      await openGateway(
        given,
        async (gateway, config) => {
          const { configFile: file = null } = gateway;
          const warnings = [...(await collectWarnings(gateway)), ...reported, ...findHiddenCommands(config)];
          output(given.json, { valid: true, file, warnings }, () => {
            const where = file ?? "no config file, the defaults apply";
            return [`✓ Valid: ${where}`, ...warnings.map((warning) => `! ${warning}`), ""].join("\n");
          });
        },
        { adjust },
      );
    } catch (thrown) {
      // Errors of the command line are not reported as JSON.
      if (!given.json || !GatewayError.is(thrown) || thrown.kind.exit === 1) throw thrown;
      output(true, { valid: false, error: thrown.message }, () => "");
      return thrown.kind.exit;
    }
  },
});

/** Finds commands of plugins that never run because toolpipe has commands of their names. */
function findHiddenCommands({ plugins = [] }: LoadedConfig): string[] {
  return plugins.flatMap(({ name: plugin, commands = {} }) =>
    Object.entries(commands).flatMap(([name, entry]) => {
      const { [name]: own } = toolpipeProgram.commands;
      if (own === undefined || own === entry) return [];
      return `The command "${name}" of the plugin "${plugin}" never runs, because toolpipe has a command of this name. Rename it.`;
    }),
  );
}

/** Collects problems that do not keep the config from being used. */
async function collectWarnings(gateway: Gateway): Promise<string[]> {
  const { rules, sources: service } = gateway.services;
  const { files = [], warnings = [] } = (await service?.collect()) ?? {};
  // Before all tools are known, a rule may match one of the unknown ones.
  const areKnown = listStatuses(gateway).every(({ listedAt }) => listedAt !== undefined);
  const reports = [...(rules?.doubts() ?? []), ...(areKnown ? (rules?.unmatched() ?? []) : [])];
  return [
    ...files.flatMap(({ status, scope, file, reason }) => {
      if (status === "broken") return [reason ?? file];
      return status === "missing" && scope === "config" ? [`${file}: there is no such file.`] : [];
    }),
    ...warnings.map(({ message }) => message),
    ...reports.map(({ rule, pattern, reason }) => `Rule ${rule} (${pattern.join(", ")}): ${reason}`),
  ];
}
