import type { CommandDef } from "citty";
import { GatewayError } from "../../core/mod.ts";
import { forgetHistory, forgetTool } from "../search/history.ts";
import { command } from "./_command.ts";
import { configArgs, loadCliConfig, withGateway } from "./_gateway.ts";
import { output } from "./_output.ts";
import { counted } from "./_shown.ts";
import { usageError } from "./_usage.ts";

/** Forgets what searches led to, whether or not it is still being remembered. */
export const forget: CommandDef = command({
  name: "forget",
  description: "Forget which tools searches led to",
  args: {
    all: { type: "boolean", description: "Everything that is remembered" },
    tool: { type: "string", description: "Only of this tool, as server:tool", valueHint: "ID" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run({ all, tool, ...given }) {
    if ((all === true) === (tool !== undefined))
      throw usageError("What is to be forgotten is missing: either --all, or --tool ID.");
    if (tool === "") throw usageError("The option --tool needs a value.");
    const forgotten = await withGateway(await loadCliConfig(given), async ({ services: { state } }) => {
      if (!state)
        throw new GatewayError("CONFIG_INVALID", 'Nothing is remembered: there is no plugin "state".');
      return tool === undefined ? forgetHistory(state) : forgetTool(state, tool);
    });
    output(given.json, { forgotten }, () =>
      forgotten === 0 ? "Nothing was remembered.\n" : `✓ Forgot ${counted(forgotten, "use")}\n`,
    );
  },
});
