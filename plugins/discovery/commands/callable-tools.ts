import type { Gateway, JsonObject, Tool, ToolDefinition } from "../../../core/mod.ts";
import { canonicalJson, hashTool } from "../../lib/hash.ts";
import { toTerminalLine, usageError } from "../../lib/terminal/output.ts";
import { readCapabilityRecord, requireStore } from "../capability-files/mod.ts";
import { CAPABILITIES, capabilitiesHash } from "../capability-files/record.ts";
import type { DiscoveredTool } from "../mod.ts";
import type { IntrospectTarget } from "./introspect-target.ts";

/**
 * Returns which tools may be called before the user approves them: none but those that the user names, and those whose
 * definitions were approved before. Undefined if there are none.
 */
export async function findCallable(
  gateway: Gateway,
  { name, entry }: IntrospectTarget,
  tools: readonly DiscoveredTool[],
  named: readonly string[],
): Promise<((tool: Tool) => boolean) | undefined> {
  for (const tool of named) {
    if (tools.some((one) => one.name === tool)) continue;
    throw usageError(`The option --call needs a tool of "${name}", which has no tool "${tool}".`);
  }
  const approved = await findApprovedTools(gateway, name, entry);
  const isAllowed = (tool: ToolDefinition): boolean =>
    named.includes(tool.name) || approved.get(tool.name) === hashTool(tool);
  if (tools.some(isAllowed)) return isAllowed;
  process.stderr.write(
    `No tool of "${toTerminalLine(name)}" was called for its output, because it is not approved. Name reading tools with --call TOOL, or approve it first.\n`,
  );
  return undefined;
}

/** Returns the hashes of the tools that were approved with this entry of a server, by name. */
async function findApprovedTools(
  gateway: Gateway,
  server: string,
  entry: JsonObject,
): Promise<ReadonlyMap<string, string>> {
  const approved = (await readCapabilityRecord(requireStore(gateway.services), server))?.approved;
  if (!approved || canonicalJson(approved.entry) !== canonicalJson(entry)) return new Map();
  const hash = capabilitiesHash(approved.entry, approved.tools);
  const status = await gateway.services.approvals?.status(CAPABILITIES, server, hash);
  return new Map(status === "approved" ? approved.tools.map((tool) => [tool.name, tool.hash]) : []);
}
