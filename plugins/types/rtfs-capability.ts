import type { CapabilityManifest, CapabilityProvider } from "../../core/services/emitter.ts";
import { printRtfsType } from "./rtfs-print.ts";
import { rtfsName, rtfsText } from "./rtfs-text.ts";
import { rtfsType } from "./rtfs-type.ts";

/** Writes a tool as a capability of RTFS. Nothing that its server says of it can end a text early. */
export function printCapability(tool: CapabilityManifest): string {
  const { id, version, description, inputSchema, outputSchema, provider, domains, categories } = tool;
  const parts = [
    `:version ${rtfsText(version)}`,
    `:description ${rtfsText(description)}`,
    `:input-schema ${printRtfsType(rtfsType(inputSchema), 2)}`,
    ...(outputSchema === undefined ? [] : [`:output-schema ${printRtfsType(rtfsType(outputSchema), 2)}`]),
    `:provider ${providerText(provider)}`,
    `:domains ${texts(domains)}`,
    `:categories ${texts(categories)}`,
  ];
  return `(capability ${[rtfsName(id), ...parts].join("\n  ")})\n`;
}

/** One key a line, each below the first. */
function providerText({ type, serverUrl, command, toolName }: CapabilityProvider): string {
  const lines = [
    `:type ${rtfsName(type)}`,
    ...(serverUrl === undefined ? [] : [`:server-url ${rtfsText(serverUrl)}`]),
    ...(command === undefined ? [] : [`:command ${texts(command)}`]),
    `:tool-name ${rtfsText(toolName)}`,
  ];
  return `{${lines.join(`\n${" ".repeat("  :provider {".length)}`)}}`;
}

function texts(list: readonly string[]): string {
  return `[${list.map(rtfsText).join(" ")}]`;
}
