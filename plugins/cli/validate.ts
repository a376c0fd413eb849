import { type Gateway, GatewayError } from "../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../core/services/command.ts";
import { output } from "../lib/terminal/output.ts";
import { statusesOf } from "../lib/terminal/servers.ts";
import { openGateway } from "./context.ts";

const args = { json: { type: "boolean", description: "Print JSON" }, ...configArgs } as const;

/** Checks the config. */
export const validateConfig: Command = defineCommand({
  args,
  async run(given) {
    try {
      await openGateway(given, async (gateway) => {
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
