import { configArgs, defineCommand } from "../../../core/services/command.ts";
import { keepStateAlone } from "../../lib/state-alone.ts";
import { output } from "../../lib/terminal/output.ts";

/** Goes on after Redis has lost its state. */
export const command = defineCommand({
  args: { json: { type: "boolean", description: "Print JSON" }, ...configArgs },
  run: (given, context) =>
    context.open(
      given,
      async ({ services }) => {
        const acknowledged = (await services.state?.acknowledge?.()) ?? false;
        output(given.json, { acknowledged }, () =>
          acknowledged
            ? "✓ Acknowledged: keys of earlier calls are gone, and calls under a key go on.\n"
            : "Nothing was lost.\n",
        );
      },
      { adjust: keepStateAlone },
    ),
});
