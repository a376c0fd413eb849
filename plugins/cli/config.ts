import { type CommandDef, defineCommand } from "citty";
import { type Gateway, GatewayError } from "../../core/mod.ts";
import { withCatalog } from "./_catalog.ts";
import { command } from "./_command.ts";
import { configArgs } from "./_gateway.ts";
import { output } from "./_output.ts";
import { statusesOf } from "./_servers.ts";
import { reload } from "./reload.ts";
import { show } from "./show.ts";
import { sources } from "./sources.ts";

const args = { json: { type: "boolean", description: "Print JSON" }, ...configArgs } as const;

const validate = command({
  name: "validate",
  description: "Check the config and everything it names; exit code 2 if it is wrong",
  args,
  async run(given) {
    try {
      await withCatalog(given, async (gateway) => {
        const { configFile: file = null } = gateway;
        const warnings = await doubtsAbout(gateway);
        output(given.json, { valid: true, file, warnings }, () => {
          const where = file ?? "no config file, the defaults apply";
          return [`✓ Valid: ${where}`, ...warnings.map((warning) => `! ${warning}`), ""].join("\n");
        });
      });
    } catch (thrown) {
      // Of what was typed wrong, nothing can be said to a program.
      if (!given.json || !GatewayError.is(thrown) || thrown.kind.exit === 1) throw thrown;
      output(true, { valid: false, error: thrown.message }, () => "");
      return thrown.kind.exit;
    }
  },
});

/** What can be used as it is and may still not be what was meant. */
async function doubtsAbout(gateway: Gateway): Promise<string[]> {
  const { rules, sources: service } = gateway.services;
  const { files = [], warnings = [] } = (await service?.collect()) ?? {};
  // Before all tools are known, a rule may well match one of the others.
  const areKnown = statusesOf(gateway).every(({ listedAt }) => listedAt !== undefined);
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

/** Shows and checks the config. */
export const config: CommandDef = defineCommand({
  meta: { name: "config", description: "Show, validate or reload the config, or list its sources" },
  subCommands: { show, validate, sources, reload },
});
