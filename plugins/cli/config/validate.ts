import { errorKinds, type Gateway, GatewayError, type LoadedConfig } from "../../../core/mod.ts";
import { configArgs, defineCommand } from "../../../core/services/command.ts";
import { askServers, unknownServers } from "../../lib/servers.ts";
import { output } from "../../lib/terminal/output.ts";
import { toolpipeProgram } from "../commands.ts";
import { openGateway } from "../context.ts";
import { hasRules, listRuleWarnings } from "../rule-warnings.ts";

const args = {
  strict: { type: "boolean", description: "Exit with code 2 if there are warnings" },
  json: { type: "boolean", description: "Print JSON" },
  ...configArgs,
} as const;

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
      return await openGateway(
        given,
        async (gateway, config) => {
          const { configFile: file = null } = gateway;
          // Whether a rule works shows in the tools that it is for.
          if (hasRules(config)) await askServers(gateway, unknownServers(gateway));
          const warnings = [...(await collectWarnings(gateway)), ...reported, ...findHiddenCommands(config)];
          output(given.json, { valid: true, file, warnings }, () => {
            const where = file ?? "no config file, the defaults apply";
            return [`✓ Valid: ${where}`, ...warnings.map((warning) => `! ${warning}`), ""].join("\n");
          });
          return given.strict && warnings.length > 0 ? errorKinds.CONFIG_INVALID.exit : 0;
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
  const { files = [], warnings = [] } = (await gateway.services.sources?.collect()) ?? {};
  return [
    ...files.flatMap(({ status, scope, file, reason }) => {
      if (status === "broken") return [reason ?? file];
      return status === "missing" && scope === "config" ? [`${file}: there is no such file.`] : [];
    }),
    ...warnings.map(({ message }) => message),
    ...(await listRuleWarnings(gateway)),
  ];
}
