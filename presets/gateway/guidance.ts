import type { Gateway, JsonObject, Tool } from "../../core/mod.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { summaryOf } from "../../plugins/lib/text/shorten.ts";
import { parametersOf } from "../_answers.ts";
import type { IntentContext } from "./facts.ts";
import { say } from "./options-of.ts";

/** What has to be known before the operation can be called, with what to ask for it. */
export function missingInputs({ inputSchema }: Tool, context: IntentContext): JsonObject[] {
  const told: JsonObject = { ...context };
  return parametersOf(inputSchema).flatMap(({ name, required, schema, description }) => {
    const isKnown =
      ["default", "const"].some((word) => Object.hasOwn(schema, word)) || told[name] !== undefined;
    if (!required || isKnown) return [];
    const choices = Array.isArray(schema["enum"]) ? ` One of ${schema["enum"].slice(0, 10).join(", ")}.` : "";
    const meaning = summaryOf(description).replace(/([^.!?…])$/, "$1.");
    return [{ field: name, question: `What is "${name}"?${meaning && ` ${meaning}`}${choices}` }];
  });
}

/** What to do with an operation that is ready. */
export function nextStep(gateway: Gateway, tool: Tool): string {
  const { idempotencyRequired, confirmationRequired } = getPolicy(tool);
  const needed = [
    ...(idempotencyRequired ? ["options.idempotency_key"] : []),
    ...(confirmationRequired ? ["options.confirmed: true once the user has agreed"] : []),
  ];
  const also = needed.length > 0 ? `, and ${needed.join(" and ")}` : "";
  return say(gateway, `Call gateway.execute with tool_id and params${also}`);
}
