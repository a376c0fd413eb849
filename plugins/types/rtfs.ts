import type { CapabilityManifest, CapabilityProvider, TypeEmitter } from "../../core/services/emitter.ts";
import { type RtfsType, rtfsType } from "./rtfs-type.ts";
import { quoteRtfs, toKeyword } from "./source-text.ts";

/**
 * Prints a type of RTFS. Each entry of a map is on a line of its own, indented by two more spaces than the line that
 * the map begins on.
 */
export function printRtfsType(type: RtfsType, indent = 0): string {
  if (type.kind === "word") return `:${type.word}`;
  if (type.kind === "vector") return `[:vector ${printRtfsType(type.items, indent)}]`;
  if (type.kind === "map-of") return `[:map-of :string ${printRtfsType(type.values, indent)}]`;
  const inner = indent + 2;
  const line = `\n${" ".repeat(inner)}`;
  if (type.kind === "map") {
    const entries = type.entries.map(
      ({ key, optional, type: value }) =>
        `${line}[${toKeyword(key)}${optional ? " {:optional true}" : ""} ${printRtfsType(value, inner)}]`,
    );
    if (type.others) entries.push(`${line}[:* ${printRtfsType(type.others, inner)}]`);
    return `[:map${entries.join("")}]`;
  }
  const members = type.members.map((member) => printRtfsType(member, inner));
  const isLong = members.some((member) => member.includes("\n"));
  return `[:${type.kind}${members.map((member) => (isLong ? line : " ") + member).join("")}]`;
}

/** Prints a tool as a capability of RTFS. No string of its server can break out of its quotes. */
export function printCapability(tool: CapabilityManifest): string {
  const { id, version, description, inputSchema, outputSchema, provider, domains, categories } = tool;
  const parts = [
    `:version ${quoteRtfs(version)}`,
    `:description ${quoteRtfs(description)}`,
    `:input-schema ${printRtfsType(rtfsType(inputSchema), 2)}`,
    ...(outputSchema === undefined ? [] : [`:output-schema ${printRtfsType(rtfsType(outputSchema), 2)}`]),
    `:provider ${printProvider(provider)}`,
    `:domains ${printList(domains)}`,
    `:categories ${printList(categories)}`,
  ];
  return `(capability ${[toKeyword(id), ...parts].join("\n  ")})\n`;
}

/** Prints one key per line, aligned with the first. */
function printProvider({ type, serverUrl, command, toolName }: CapabilityProvider): string {
  const lines = [
    `:type ${toKeyword(type)}`,
    ...(serverUrl === undefined ? [] : [`:server-url ${quoteRtfs(serverUrl)}`]),
    ...(command === undefined ? [] : [`:command ${printList(command)}`]),
    `:tool-name ${quoteRtfs(toolName)}`,
  ];
  return `{${lines.join(`\n${" ".repeat("  :provider {".length)}`)}}`;
}

function printList(list: readonly string[]): string {
  return `[${list.map(quoteRtfs).join(" ")}]`;
}

/**
 * Writes types as RTFS, and tools as its capabilities.
 *
 * @example
 * ```ts
 * import { rtfs } from "toolpipe/plugins/types";
 *
 * rtfs.type({ type: "array", items: { type: "integer" } }); // [:vector :int]
 * ```
 */
export const rtfs: TypeEmitter = {
  name: "rtfs",
  extension: ".rtfs",
  type: (schema) => printRtfsType(rtfsType(schema)),
  declaration: printCapability,
};
