import { configArgs, defineCommand } from "../../core/services/command.ts";
import type { ToolExample, ToolParameter } from "../../presets/anygpt/details.ts";
import { createEngine, type ToolMetadata } from "../../presets/anygpt/engine.ts";
import { createToolNotFoundError } from "../../presets/anygpt/execute.ts";
import { askForTool, checkServer, findServerError, findTool, toUnreachable } from "../lib/servers.ts";
import { output, toTerminalLine, toTerminalLines } from "../lib/terminal/output.ts";
import { openGateway } from "./context.ts";

/** Describes a tool. */
export const command = defineCommand({
  args: {
    server: { type: "positional", required: true, description: "The server" },
    tool: { type: "positional", required: true, description: "The tool" },
    examples: { type: "boolean", description: "Show example arguments" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given) {
    const { server, tool: name, examples = false } = given;
    await openGateway(given, async (gateway) => {
      checkServer(gateway, server);
      await askForTool(gateway, server, name);
      const details = await createEngine(gateway).getToolDetails(server, name, { examples });
      if (!details) {
        const failure = findServerError(gateway, server);
        throw failure ? toUnreachable(failure) : await createToolNotFoundError(gateway, server, name);
      }
      const because = findTool(gateway, server, name)?.disabledBecause;
      output(given.json, toJson(details, because), () => describe(details, because));
    });
  },
});

/** Adds to the shape of the specification why a tool is disabled. */
function toJson({ server, name, summary: _, ...rest }: ToolMetadata, because: string | undefined): object {
  return { server, tool: name, ...rest, ...(!rest.enabled && { disabledBecause: because ?? "" }) };
}

function describe(details: ToolMetadata, because: string | undefined): string {
  const { server, name, description = "", parameters = [], examples, enabled } = details;
  const sections: readonly (readonly [title: string, lines: string | undefined])[] = [
    ["Disabled", enabled ? undefined : (because ?? "A plugin has disabled it.")],
    ["Description", toTerminalLines(description).trim() || "(none)"],
    ["Parameters", parameters.map(describeParameter).join("\n\n") || "(none)"],
    ["Examples", examples && (examples.map(describeExample).join("\n\n") || "(none was found)")],
  ];
  const shown = sections.flatMap(([title, lines]) => (lines ? [`${title}:\n${indent(lines)}`] : []));
  const head = `Tool: ${toTerminalLine(`${server}:${name}`)}${enabled ? "" : " (disabled)"}`;
  return `${[head, ...shown].join("\n\n")}\n`;
}

function describeParameter({ name, type, description, required }: ToolParameter): string {
  const head = `${toTerminalLine(name)} (${toTerminalLine(type)}, ${required ? "required" : "optional"})`;
  const text = toTerminalLines(description).trim();
  return text ? `${head}\n${indent(text)}` : head;
}

function describeExample({ description, parameters }: ToolExample): string {
  const rows = Object.entries(parameters).map(
    ([name, value]) => `${toTerminalLine(name)}: ${JSON.stringify(value)}`,
  );
  return `${toTerminalLine(description)}:\n${indent(toTerminalLines(rows.join("\n") || "(nothing)"))}`;
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
