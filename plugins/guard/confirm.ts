import type { Call, Gateway, JsonObject, MaybePromise, Tool } from "../../core/mod.ts";
import type {} from "../upstreams/implied-tool.ts";
import { canonicalJson, sha256 } from "./canonical.ts";
import type { Confirmations, Confirmed } from "./confirmation.ts";
import type {} from "./elicit.ts";
import { unconfirmed } from "./enforce.ts";
import { CONFIRMATION_DECLINED, CONFIRMATION_INVALID, TOOL_CHANGED } from "./errors.ts";
import type { GuardSettings } from "./options.ts";
import { policyOf } from "./policy.ts";
import { refusal } from "./refusal.ts";
import { type GuardRequest, guardRequest } from "./request-meta.ts";

/** Sees to it that a person has said yes to a call. */
export interface Confirming {
  /** Throws where there is no confirmation, and nobody who could be asked for one. */
  checkPresence(call: Call, tool: Tool): MaybePromise<void>;
  /** Throws unless the confirmation is for this very call; asks the person where that is how it is done. */
  confirm(call: Call, tool: Tool, purpose: string): Promise<void>;
  /** Nothing came of the call: what confirmed it can be used again. */
  giveBack(call: Call, purpose: string): Promise<void>;
}

/** What {@link createConfirming} is given. */
export interface ConfirmingParts {
  readonly gateway: Gateway;
  readonly mode: GuardSettings["confirmation"];
  readonly confirmations: () => Confirmations;
  readonly hashOf: (tool: Tool) => string;
}

const QUESTION: JsonObject = Object.freeze({
  type: "object",
  properties: { confirm: { type: "boolean", title: "Yes, do it", default: false } },
  required: ["confirm"],
});
const MAX_SHOWN = 500;

/** Makes what sees to confirmations. */
export function createConfirming({ gateway, mode, confirmations, hashOf }: ConfirmingParts): Confirming {
  /** What the caller sent, before anything made something else of it: that is what was shown and confirmed. */
  const sent = new WeakMap<Call, string>();

  const canAsk = (call: Call): boolean => gateway.services.elicit?.can(call) === true;
  const saysYes = ({ confirmed, confirmation }: GuardRequest): boolean =>
    confirmation !== undefined || (confirmed && mode !== "token");
  const confirmedBy = (call: Call, tool: Tool): Confirmed => ({
    actor: call.actor.id,
    tool: tool.id,
    definition: hashOf(tool),
    args: sent.get(call) ?? sha256(canonicalJson(call.args)),
  });

  return {
    checkPresence(call, tool) {
      const policy = policyOf(tool);
      if (!policy.confirmationRequired) return;
      const request = guardRequest(call.meta);
      if (request.confirmation !== undefined) sent.set(call, sha256(canonicalJson(call.args)));
      if (saysYes(request) || canAsk(call)) return;
      return confirmations()
        .issue(confirmedBy(call, tool))
        .then((token) => Promise.reject(unconfirmed(call, policy, token, mode !== "token")));
    },
    async confirm(call, tool, purpose) {
      if (!policyOf(tool).confirmationRequired) return;
      const request = guardRequest(call.meta);
      if (canAsk(call) && (mode === "ask" || !saysYes(request))) return ask(call, tool);
      const { confirmation } = request;
      if (confirmation === undefined) return;
      if (await confirmations().use(confirmation, confirmedBy(call, tool), purpose)) return;
      throw refusal(
        CONFIRMATION_INVALID,
        call,
        `The confirmation is not for this call of "${tool.id}", was used before, or is too old.`,
        { suggestion: "Make the call without a confirmation to get another token, and ask the user again." },
      );
    },
    async giveBack(call, purpose) {
      const { confirmation } = guardRequest(call.meta);
      if (confirmation !== undefined) await confirmations().giveBack(confirmation, purpose);
    },
  };

  async function ask(call: Call, tool: Tool): Promise<void> {
    const answer = await gateway.services.elicit?.ask(questionFor(call, tool), QUESTION, call);
    if (answer?.action !== "accept" || answer.content?.["confirm"] !== true) {
      throw refusal(CONFIRMATION_DECLINED, call, `The user did not agree to "${tool.id}".`, {
        suggestion: "Do not call it again unless the user asks for it.",
      });
    }
    // Thinking takes time. What was agreed to is the tool as it was then.
    const present = tool.request ? tool : gateway.catalog.tool(tool.id);
    if (present && hashOf(present) === hashOf(tool)) return;
    throw refusal(TOOL_CHANGED, call, `"${tool.id}" has changed since the user was asked.`, {
      suggestion: "Look at the tool again, and make the call anew if it is still what the user wants.",
    });
  }
}

function questionFor(call: Call, tool: Tool): string {
  const { riskLevel, reversible } = policyOf(tool);
  const given = JSON.stringify(call.args);
  const shown =
    given.length <= MAX_SHOWN ? given : `${given.slice(0, MAX_SHOWN)}… (${given.length} characters)`;
  const harm = reversible ? `Its risk is ${riskLevel}.` : "It cannot be undone.";
  return `Shall "${tool.id}" be called with ${shown.replace(/[\p{Cc}\p{Cf}]+/gu, " ")}? ${harm}`;
}
