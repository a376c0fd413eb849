import { resolve } from "node:path";
import type { CommandDef } from "citty";
import { type Gateway, GatewayError } from "../../core/mod.ts";
import { withdraw } from "../export/mod.ts";
import { approvalOf } from "../upstreams/mod.ts";
import { approvalParts, removeFromConfig } from "./_capabilities.ts";
import { withCatalog } from "./_catalog.ts";
import { command } from "./_command.ts";
import { configArgs } from "./_gateway.ts";
import { output } from "./_output.ts";
import { revokeConfig } from "./_trust.ts";
import { usageError } from "./_usage.ts";

/** Takes an approval back. */
export const revoke: CommandDef = command({
  name: "revoke",
  description: "Take the approval of a server, or of a config, back",
  args: {
    server: { type: "positional", required: false, description: "The server" },
    file: { type: "string", description: "A config that was approved", valueHint: "FILE" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run({ server, file, ...given }) {
    if (file !== undefined) return revokeFile(resolve(file), given.json === true);
    if (server === undefined) throw usageError("What is to be revoked is missing: a server, or --file FILE.");
    await withCatalog(given, async (gateway) => {
      const { services } = gateway;
      const isLooked =
        services.state !== undefined &&
        (await withdraw(approvalParts(gateway), server, (file) => removeFromConfig(file, server)));
      if (isLooked) return output(given.json, { revoked: server }, () => `✓ Revoked: ${server}\n`);
      const name = await approvedName(gateway, server);
      if (name === undefined || !(await gateway.services.approvals?.revoke("server", name))) {
        throw new GatewayError("TOOL_NOT_FOUND", `Nobody has approved a server "${server}".`);
      }
      output(given.json, { revoked: server }, () => `✓ Revoked: ${name}\n`);
    });
  },
});

async function revokeFile(file: string, json: boolean): Promise<void> {
  if (!(await revokeConfig(file))) throw new GatewayError("TOOL_NOT_FOUND", `Nobody has approved ${file}.`);
  output(json, { revoked: file }, () => `✓ Revoked: ${file}\n`);
}

/** The name that an approval is kept under; the server itself may be gone from its file, or the file with it. */
async function approvedName({ services }: Gateway, server: string): Promise<string | undefined> {
  const approved = ((await services.approvals?.list()) ?? []).filter(
    ({ kind, approved: definition }) => kind === "server" && definition,
  );
  const config = services.upstreams?.status(server)?.config;
  const own = config && approvalOf(config).name;
  if (approved.some(({ name }) => name === own)) return own;
  const names = approved
    .map(({ name }) => name)
    .filter((name) => name === server || name.startsWith(`${server} in `));
  if (names.length <= 1) return names[0];
  throw new GatewayError(
    "CONFIG_INVALID",
    `Several servers "${server}" are approved. Name the one you mean: ${names.map((name) => `"${name}"`).join(", ")}.`,
  );
}
