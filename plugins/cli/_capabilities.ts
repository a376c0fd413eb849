import { isDeepStrictEqual } from "node:util";
import { type Gateway, GatewayError, type JsonObject } from "../../core/mod.ts";
import { fileBehind, readState, replaceFile } from "../_replace-file.ts";
import type { ApprovalParts, CapabilityRecord, PendingTool } from "../export/mod.ts";
import { listRecords, storeOf } from "../export/mod.ts";
import type { ServerConfig } from "../sources/mod.ts";
import { normalise } from "../sources/normalise.ts";
import { describeDefinition, shownDefinition } from "./_definition.ts";
import { editJson } from "./_edit-json.ts";
import { ownChange } from "./_init-changes.ts";
import { readOwnConfig } from "./_own-config.ts";
import { counted, shownLine } from "./_shown.ts";

/** What approving capabilities is done with. */
export function approvalParts({ services }: Gateway): ApprovalParts {
  const { approvals } = services;
  if (!approvals) {
    throw new GatewayError("CONFIG_INVALID", 'Nothing can be approved: the plugin "approvals" is not there.');
  }
  return { store: storeOf(services), approvals };
}

/** A server that was introspected, as a definition. */
export function introspectedConfig(name: string, entry: JsonObject): ServerConfig {
  // Not the person's own until they approve it: nobody sends it a token of theirs before.
  const { config, reason } = normalise({ name, entry }, { source: "introspect", scope: "project" });
  if (config) return config;
  throw new GatewayError("CONFIG_INVALID", `The server "${name}" cannot be used: ${reason}.`);
}

/** Every server that waits, where this gateway can have such. */
export async function pendingServers({ services }: Gateway): Promise<readonly CapabilityRecord[]> {
  if (!services.state) return [];
  return (await listRecords(services.state)).filter(({ pending }) => pending !== undefined);
}

/** What waits of a server, as lines of text. */
export function describePending({ server, pending }: CapabilityRecord): string {
  const { entry = {}, tools = [] } = pending ?? {};
  const waits = `  It was introspected, and nobody has approved it yet. Approve it with: toolpipe approve ${server}`;
  return [describeDefinition(introspectedConfig(server, entry)), ...describeTools(tools), waits].join("\n");
}

/** Tools as lines of text: what each is called, what it does, and what its server says of it. */
export function describeTools(tools: readonly PendingTool[]): readonly string[] {
  return [
    `  ${counted(tools.length, "tool")}:`,
    ...tools.map(({ name, categories, summary }) => {
      const does = categories.length > 0 ? ` (${categories.join(", ")})` : "";
      return shownLine(`${name}${does}${summary === "" ? "" : `: ${summary}`}`).replace(/^/, "    ");
    }),
  ];
}

/** The same as JSON. */
export function pendingJson({ server, pending }: CapabilityRecord): object {
  if (!pending) return { name: server };
  const { folder, tools, entry } = pending;
  return {
    ...shownDefinition(introspectedConfig(server, entry)),
    folder,
    tools: tools.map(({ name, summary, categories }) => ({ name, summary, categories })),
  };
}

/** Adds a server to the person's own config, or puts another definition in its place. */
export async function addToConfig(file: string, name: string, entry: JsonObject): Promise<void> {
  const own = await readOwnConfig(file);
  if (own.isThere) {
    if (isDeepStrictEqual(own.servers[name], entry)) return;
    const change = await ownChange(own, { [name]: entry });
    if (change) await replaceFile(change.file, change.after);
    return;
  }
  // Without a config, the servers of the clients are used; a new one must not take them away.
  const content = { mcpServers: { [name]: entry }, options: { sources: { clients: "all" } } };
  const bytes = Buffer.from(`${JSON.stringify(content, null, 2)}\n`);
  await replaceFile(file, { bytes, mode: 0o600 });
}

/** Takes a server out of a config; nothing happens where it is not there. */
export async function removeFromConfig(given: string, name: string): Promise<void> {
  const file = await fileBehind(given);
  const before = await readState(file);
  if (!before || !Object.hasOwn((await readOwnConfig(given)).servers, name)) return;
  const text = Buffer.from(before.bytes).toString("utf8");
  const after = await editJson(text, { key: "mcpServers", remove: [name], put: {} });
  await replaceFile(file, { ...before, bytes: Buffer.from(after) });
}
