import { relative, resolve } from "node:path";
import { type Gateway, GatewayError, type JsonObject } from "../../core/mod.ts";
import { type Promoted, promote, readRecord } from "../export/mod.ts";
import { thisMachine } from "../sources/mod.ts";
import { addToConfig, approvalParts, describeTools, introspectedConfig } from "./_capabilities.ts";
import { describeDefinition } from "./_definition.ts";
import { ownConfigFile, readOwnConfig } from "./_own-config.ts";
import { counted, shownPath } from "./_shown.ts";

/** What was approved of a server that was introspected. */
export interface ApprovedLooked {
  /** The names of its tools. */
  readonly tools: readonly string[];
  /** What a person is told of it. */
  readonly text: string;
  /** Where it is now. */
  readonly more: string;
  /** The config that it was added to. */
  readonly config: string;
}

/** The name of the server in what a person names: a server, or a tool as `server:tool`. */
export function nameIn(id: string): string {
  return id.split(":", 1)[0] ?? id;
}

/** Approves a server that was introspected, or one of its tools; nothing where none of this name waits. */
export async function approveLooked(
  gateway: Gateway,
  id: string,
  given: string | undefined,
): Promise<ApprovedLooked | undefined> {
  if (!gateway.services.state) return undefined;
  const parts = approvalParts(gateway);
  const server = nameIn(id);
  const record = await readRecord(parts.store, server);
  if (!record?.pending) return undefined;
  const config = resolve(given ?? record.approved?.config ?? ownConfigFile(thisMachine()));
  await checkFree(config, server, record.approved?.config);
  const promoted = await promote(parts, {
    server,
    tool: id === server ? undefined : id.slice(server.length + 1),
    config,
    register: (name, entry, only) => addToConfig(config, name, withTools(entry, only)),
  });
  const { text, more } = textOf(server, promoted, config);
  const other =
    gateway.configFile === undefined || gateway.configFile === config ? undefined : gateway.configFile;
  return {
    tools: promoted.tools.map(({ name }) => name),
    config,
    text,
    more:
      other === undefined ? more : `${more}\n  In this folder, another config is used: ${shownPath(other)}`,
  };
}

/** A server of this name that somebody wrote there is not replaced. */
async function checkFree(config: string, server: string, ours: string | undefined): Promise<void> {
  const { names } = await readOwnConfig(config);
  if (!names.has(server) || ours === config) return;
  throw new GatewayError(
    "CONFIG_INVALID",
    `There is a server "${server}" in ${config} already. Introspect this one under another name with --as NAME.`,
  );
}

/** Also where nobody looks at the record of what is approved, no other tool is to be used. */
function withTools(entry: JsonObject, only: readonly string[] | undefined): JsonObject {
  return only ? { ...entry, tools: { include: only } } : entry;
}

function textOf(
  server: string,
  { entry, tools, folder, left }: Promoted,
  config: string,
): Pick<ApprovedLooked, "text" | "more"> {
  const waits = left > 0 ? [`  ${counted(left, "tool")} of it still to be approved.`] : [];
  return {
    text: [
      `✓ Approved ${describeDefinition(introspectedConfig(server, entry))}`,
      ...describeTools(tools),
    ].join("\n"),
    more: [
      ...waits,
      `  Its definition is in ${shownPath(config)}, its files are in ${relative(process.cwd(), folder) || "."}`,
    ].join("\n"),
  };
}
