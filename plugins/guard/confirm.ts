import {
  type Call,
  type Gateway,
  isJsonObject,
  type JsonObject,
  type MaybePromise,
  type Tool,
} from "../../core/mod.ts";
import { TOOL_CHANGED } from "../../core/services/approvals.ts";
import type { Client } from "../../core/services/clients.ts";
import {
  CONFIRMATION_DECLINED,
  CONFIRMATION_INVALID,
  type GuardRequest,
  getPolicy,
  readGuardRequest,
  refusal,
} from "../../core/services/policy.ts";
import type {} from "../../core/services/servers.ts";
import { canonicalJson, sha256 } from "../lib/hash.ts";
import type { Confirmations, Confirmed } from "./confirmation.ts";
import { unconfirmed } from "./enforce.ts";
import type { GuardSettings } from "./options.ts";

/** Checks that a person has confirmed a call, where its policy requires that. */
export interface ConfirmationCheck {
  /** Throws if the call carries no confirmation and its client cannot ask the user for one. */
  checkPresence(call: Call, tool: Tool): MaybePromise<void>;
  /** Throws unless the confirmation is for this call; asks the user if the mode says so. */
  confirm(call: Call, tool: Tool, purpose: string): Promise<void>;
  /** Makes a confirmation usable again after a call without effect. */
  giveBack(call: Call, purpose: string): Promise<void>;
}

/** Options of {@link createConfirmationCheck}. */
export interface ConfirmationCheckOptions {
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

/** Creates the check of confirmations. */
export function createConfirmationCheck({
  gateway,
  mode,
  confirmations,
  hashOf,
}: ConfirmationCheckOptions): ConfirmationCheck {
  /** Hashes of the arguments as sent, before a plugin replaced them: those were shown and confirmed. */
  const sent = new WeakMap<Call, string>();

  const clientOf = (call: Call): Client | undefined => gateway.services.clients?.get(call);
  const canAsk = (call: Call): boolean => clientOf(call)?.can("elicitation") === true;
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
      const policy = getPolicy(tool);
      if (!policy.confirmationRequired) return;
      const request = readGuardRequest(call.meta);
      if (request.confirmation !== undefined) sent.set(call, sha256(canonicalJson(call.args)));
      if (saysYes(request) || canAsk(call)) return;
      return confirmations()
        .issue(confirmedBy(call, tool))
        .then((token) => Promise.reject(unconfirmed(call, policy, token, mode !== "token")));
    },
    async confirm(call, tool, purpose) {
      if (!getPolicy(tool).confirmationRequired) return;
      const request = readGuardRequest(call.meta);
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
      const { confirmation } = readGuardRequest(call.meta);
      if (confirmation !== undefined) await confirmations().giveBack(confirmation, purpose);
    },
  };

  async function ask(call: Call, tool: Tool): Promise<void> {
    const params = { message: questionFor(call, tool), requestedSchema: QUESTION };
    // The client may have left since it was looked for, and may answer anything: only a clear yes is consent.
    const answer = await clientOf(call)?.ask("elicitation/create", params);
    const content = answer?.["action"] === "accept" ? answer["content"] : undefined;
    if (!isJsonObject(content) || content["confirm"] !== true) {
      throw refusal(CONFIRMATION_DECLINED, call, `The user did not agree to "${tool.id}".`, {
        suggestion: "Do not call it again unless the user asks for it.",
      });
    }
    // The user agreed to the tool as it was when they were asked, which may be minutes ago.
    const present = tool.request ? tool : gateway.catalog.tool(tool.id);
    if (present && hashOf(present) === hashOf(tool)) return;
    throw refusal(TOOL_CHANGED, call, `"${tool.id}" has changed since the user was asked.`, {
      suggestion: "Look at the tool again, and make the call anew if it is still what the user wants.",
    });
  }
}

function questionFor(call: Call, tool: Tool): string {
  const { riskLevel, reversible } = getPolicy(tool);
  const given = JSON.stringify(call.args);
  const shown =
    given.length <= MAX_SHOWN ? given : `${given.slice(0, MAX_SHOWN)}… (${given.length} characters)`;
  const harm = reversible ? `Its risk is ${riskLevel}.` : "It cannot be undone.";
  return `Shall "${tool.id}" be called with ${shown.replace(/[\p{Cc}\p{Cf}]+/gu, " ")}? ${harm}`;
}
