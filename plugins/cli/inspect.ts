import { type Command, configArgs, defineCommand } from "../../core/services/command.ts";
import type { ToolExample, ToolParameter } from "../../presets/anygpt/details.ts";
import { engineOf, type ToolMetadata } from "../../presets/anygpt/engine.ts";
import { noTool } from "../../presets/anygpt/not-found.ts";
import { findTool, troubleOf } from "../lib/servers.ts";
import { output, shownLine, shownLines } from "../lib/terminal/output.ts";
import { askForTool, checkServer } from "../lib/terminal/servers.ts";
import { openGateway } from "./context.ts";

/** Shows all there is to know of a tool. */
export const inspect: Command = defineCommand({
  args: {
    server: { type: "positional", required: true, description: "The server" },
    tool: { type: "positional", required: true, description: "The tool" },
    examples: { type: "boolean", description: "Show what it can be called with" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given) {
    const { server, tool: name, examples = false } = given;
    await openGateway(given, async (gateway) => {
      checkServer(gateway, server);
      await askForTool(gateway, server, name);
      const details = await engineOf(gateway).getToolDetails(server, name, { examples });
      if (!details) throw troubleOf(gateway, server) ?? (await noTool(gateway, server, name));
      const because = findTool(gateway, server, name)?.disabledBecause;
      output(given.json, toJson(details, because), () => describe(details, because));
    });
  },
});

/** The shape of the specification, and what a person who may not use the tool has to know. */
function toJson({ server, name, summary: _, ...rest }: ToolMetadata, because: string | undefined): object {
  return { server, tool: name, ...rest, ...(!rest.enabled && { disabledBecause: because ?? "" }) };
}

function describe(details: ToolMetadata, because: string | undefined): string {
  const { server, name, description = "", parameters = [], examples, enabled } = details;
  const sections: readonly (readonly [title: string, lines: string | undefined])[] = [
    ["Disabled", enabled ? undefined : (because ?? "Another plugin keeps it from being used.")],
    ["Description", shownLines(description).trim() || "(none)"],
    ["Parameters", parameters.map(describeParameter).join("\n\n") || "(none)"],
    ["Examples", examples && (examples.map(describeExample).join("\n\n") || "(none was found)")],
  ];
  const shown = sections.flatMap(([title, lines]) => (lines ? [`${title}:\n${indented(lines)}`] : []));
  const head = `Tool: ${shownLine(`${server}:${name}`)}${enabled ? "" : " (disabled)"}`;
  return `${[head, ...shown].join("\n\n")}\n`;
}

function describeParameter({ name, type, description, required }: ToolParameter): string {
  const head = `${shownLine(name)} (${shownLine(type)}, ${required ? "required" : "optional"})`;
  const text = shownLines(description).trim();
  return text ? `${head}\n${indented(text)}` : head;
}

function describeExample({ description, parameters }: ToolExample): string {
  const rows = Object.entries(parameters).map(
    ([name, value]) => `${shownLine(name)}: ${JSON.stringify(value)}`,
  );
  return `${shownLine(description)}:\n${indented(shownLines(rows.join("\n") || "(nothing)"))}`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
