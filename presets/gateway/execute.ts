import { isJsonObject, type MetaTool } from "../../core/mod.ts";
import { resultOf } from "./envelope.ts";
import { runOperation } from "./run-operation.ts";

/** Executes an operation. */
export const execute: MetaTool = {
  name: "gateway.execute",
  description: "Execute a specific tool. Use gateway.intent first to find the right tool_id.",
  inputSchema: {
    type: "object",
    properties: {
      // Its pattern is shown but not insisted on: an id that is wrong gets an answer that helps.
      tool_id: { type: "string", description: "Tool identifier in 'adapter:tool' format" },
      params: { type: "object", description: "Parameters for the tool" },
      options: {
        type: "object",
        properties: {
          timeout: { type: "integer", minimum: 1, maximum: 2_147_483_647, default: 30000 },
          idempotency_key: { type: "string", description: "REQUIRED for high-risk operations" },
          dry_run: { type: "boolean", default: false },
          confirmed: {
            type: "boolean",
            default: false,
            description: "REQUIRED for destructive operations",
          },
          confirmation: { type: "string", description: "The token of a refusal, once the user has agreed" },
        },
        // A word that is misspelt here would be a protection that is not there.
        additionalProperties: false,
      },
    },
    required: ["tool_id", "params"],
  },
  annotations: { destructiveHint: true, openWorldHint: true },
  async run({ tool_id, params, options }, { gateway, call }) {
    const order = { id: String(tool_id), params, options: isJsonObject(options) ? options : {} };
    const { envelope, questions } = await runOperation(gateway, order, { parent: call });
    return questions ?? resultOf(envelope);
  },
};
