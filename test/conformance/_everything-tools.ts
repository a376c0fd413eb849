import type { InputRequiredResult, ServerContext, Tool } from "@modelcontextprotocol/server";
import { pause, png, text, wav } from "./_everything-content.ts";

/** Actions of a tool besides answering. */
export interface Surroundings {
  readonly context: ServerContext;
  readonly args: Readonly<Record<string, unknown>>;
  /** The capabilities that the client declares. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** Adds or removes a tool or a prompt, and notifies the client. */
  change(what: "tools" | "prompts"): Promise<void>;
}

/** A tool of the fixture. */
export interface FixtureTool {
  readonly definition: Tool;
  run(surroundings: Surroundings): Promise<ReturnType<typeof text> | InputRequiredResult>;
}

/** A tool of the fixture, with no arguments unless some are named. */
export function tool(
  name: string,
  description: string,
  run: FixtureTool["run"],
  inputSchema: Tool["inputSchema"] = { type: "object" },
): FixtureTool {
  return { definition: { name, description, inputSchema }, run };
}

/** Long enough that each message goes out by itself. */
const STEP_MS = 10;
const embedded = {
  type: "resource" as const,
  resource: {
    uri: "test://embedded-resource",
    mimeType: "text/plain",
    text: "The text of an embedded resource.",
  },
};
const image = { type: "image" as const, data: png, mimeType: "image/png" };

const street = { type: "string" } as const;

/** The tools that answer without asking anything. */
export const plainTools: readonly FixtureTool[] = [
  tool("test_simple_text", "Answers with text.", async () =>
    text("This is a simple text response for testing."),
  ),
  tool("test_image_content", "Answers with a picture.", async () => ({ content: [image] })),
  tool("test_audio_content", "Answers with a sound.", async () => ({
    content: [{ type: "audio", data: wav, mimeType: "audio/wav" }],
  })),
  tool("test_embedded_resource", "Answers with a resource.", async () => ({ content: [embedded] })),
  tool("test_multiple_content_types", "Answers with text, a picture and a resource.", async () => ({
    content: [{ type: "text", text: "Several kinds of content:" }, image, embedded],
  })),
  tool("test_error_handling", "Always fails.", async () => ({
    ...text("This tool intentionally returns an error for testing"),
    isError: true,
  })),
  tool("test_tool_with_progress", "Reports progress three times.", async ({ context }) => {
    const progressToken = context.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        const params = { progressToken, progress, total: 100 };
        await context.mcpReq.notify({ method: "notifications/progress", params });
      }
      await pause(STEP_MS);
    }
    return text("Done in three steps.");
  }),
  tool("test_tool_with_logging", "Writes three log messages.", logging),
  tool("test_logging_tool", "Writes three log messages.", logging),
  tool("test_trigger_tool_change", "Changes the list of tools.", async ({ change }) => {
    await change("tools");
    return text("The list of tools has changed.");
  }),
  tool("test_trigger_prompt_change", "Changes the list of prompts.", async ({ change }) => {
    await change("prompts");
    return text("The list of prompts has changed.");
  }),
  tool(
    "test_tool_with_header",
    "Takes a parameter that is repeated in a header.",
    async () => text("Received."),
    {
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" } },
      required: ["region"],
    },
  ),
  tool("json_schema_2020_12_tool", "Has a schema with newer keywords.", async () => text("Received."), {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: { $anchor: "addressDef", type: "object", properties: { street, city: street } },
    },
    properties: {
      name: { type: "string" },
      address: { $ref: "#/$defs/address" },
      contactMethod: { type: "string", enum: ["phone", "email"] },
      phone: { type: "string" },
      email: { type: "string" },
    },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ["phone"] },
    else: { required: ["email"] },
    additionalProperties: false,
  }),
];

/** The tool that comes and goes. */
export const addedTool: FixtureTool = tool("test_added_tool", "Was added while the server ran.", async () =>
  text("Added."),
);

async function logging({ context }: Surroundings): ReturnType<FixtureTool["run"]> {
  for (const message of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
    await context.mcpReq.log("info", message);
    await pause(STEP_MS);
  }
  return text("Three log messages were written.");
}
