import { resolve } from "node:path";
import { GatewayError } from "../../../core/mod.ts";
import {
  type Command,
  type CommandContext,
  configArgs,
  defineCommand,
} from "../../../core/services/command.ts";
import { output, usageError } from "../../lib/terminal/output.ts";

/** Takes back the approval of a server, a tool or a config. */
export const revoke: Command = defineCommand({
  args: {
    server: { type: "positional", required: false, description: "The server, or the tool as server:tool" },
    file: { type: "string", description: "A config that was approved", valueHint: "FILE" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run({ server: id, file, ...given }, context) {
    if (file !== undefined) return revokeFile(context, resolve(file), given.json === true);
    if (id === undefined) throw usageError("Name what is to be revoked: a server, a tool, or --file FILE.");
    await context.open(given, async ({ services }) => {
      const name = await services.approvals?.withdraw(id);
      if (name === undefined) throw notApproved(id);
      output(given.json, { revoked: id }, () => `✓ Revoked: ${name}\n`);
    });
  },
});

async function revokeFile(context: CommandContext, file: string, json: boolean): Promise<void> {
  const isRevoked = await context.open({ look: false }, async ({ services }) =>
    services.approvals?.revoke("config", file),
  );
  if (!isRevoked) throw notApproved(file);
  output(json, { revoked: file }, () => `✓ Revoked: ${file}\n`);
}

function notApproved(id: string): GatewayError {
  return new GatewayError(
    "TOOL_NOT_FOUND",
    `"${id}" is not approved. List what waits with: toolpipe approve`,
  );
}
