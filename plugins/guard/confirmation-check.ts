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
import { createRefusal, type GuardRequest, getPolicy, readGuardRequest } from "../../core/services/policy.ts";
import { canonicalJson, sha256Hex } from "../lib/hash.ts";
import type { Confirmations, Confirmed } from "./confirmation.ts";
import { createConfirmationError } from "./enforce.ts";
import { CONFIRMATION_DECLINED, CONFIRMATION_INVALID } from "./errors.ts";
import type { GuardSettings } from "./options.ts";

/** Checks that the user has confirmed a call, if its policy requires that. */
interface ConfirmationCheck {
  /** Throws if the call carries no confirmation and its client cannot ask the user for one. */
  checkPresence(call: Call, tool: Tool): MaybePromise<void>;
  /** Throws unless the confirmation is for this call; asks the user if the mode requires it. */
  confirm(call: Call, tool: Tool, purpose: string): Promise<void>;
  /** Makes a confirmation usable again after a call without effect. */
  giveBack(call: Call, purpose: string): Promise<void>;
}

const QUESTION: JsonObject = Object.freeze({
  type: "object",
  properties: { confirm: { type: "boolean", title: "Yes, do it", default: false } },
  required: ["confirm"],
});
const MAX_ARGUMENTS = 2_000;
/** Characters that are not seen, or that change how others are. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]+/gu;

/** Creates the check of confirmations. */
export function createConfirmationCheck({
  gateway,
  mode,
  confirmations,
  hashTool,
}: {
  readonly gateway: Gateway;
  readonly mode: GuardSettings["confirmation"];
  readonly confirmations: Confirmations;
  readonly hashTool: (tool: Tool) => string;
}): ConfirmationCheck {
  /** Hashes of the arguments as sent, before a plugin replaced them: the user has confirmed those. */
  const sent = new WeakMap<Call, string>();

  const getClient = (call: Call): Client | undefined => gateway.services.clients?.get(call);
  const canAsk = (call: Call): boolean => getClient(call)?.can("elicitation") === true;
  const hasConfirmation = ({ confirmed, confirmation }: GuardRequest): boolean =>
    confirmation !== undefined || (confirmed && mode !== "token");
  const toConfirmed = (call: Call, tool: Tool): Confirmed => ({
    actor: call.actor.id,
    tool: tool.id,
    definition: hashTool(tool),
    args: sent.get(call) ?? sha256Hex(canonicalJson(call.args)),
  });

  return {
    checkPresence(call, tool) {
      const policy = getPolicy(tool);
      if (!policy.confirmationRequired) return;
      const request = readGuardRequest(call.meta);
      if (request.confirmation !== undefined) sent.set(call, sha256Hex(canonicalJson(call.args)));
      if (hasConfirmation(request) || canAsk(call)) return;
      return confirmations
        .issue(toConfirmed(call, tool))
        .then((token) => Promise.reject(createConfirmationError(call, policy, token, mode !== "token")));
    },
    async confirm(call, tool, purpose) {
      if (!getPolicy(tool).confirmationRequired) return;
      const request = readGuardRequest(call.meta);
      if (canAsk(call) && (mode === "ask" || !hasConfirmation(request))) return ask(call, tool);
      const { confirmation } = request;
      if (confirmation === undefined) return;
      if (await confirmations.use(confirmation, toConfirmed(call, tool), purpose)) return;
      throw createRefusal(
        CONFIRMATION_INVALID,
        call,
        `The confirmation is not for this call of "${tool.id}", was used before, or is too old.`,
        { suggestion: "Make the call without a confirmation to get another token, and ask the user again." },
      );
    },
    async giveBack(call, purpose) {
      const { confirmation } = readGuardRequest(call.meta);
      if (confirmation !== undefined) await confirmations.giveBack(confirmation, purpose);
    },
  };

  async function ask(call: Call, tool: Tool): Promise<void> {
    const params = { message: createQuestion(call, tool), requestedSchema: QUESTION };
    // The client may have left since it was looked for, and may answer anything: only a clear yes is consent.
    const answer = await getClient(call)?.ask("elicitation/create", params);
    const content = answer?.["action"] === "accept" ? answer["content"] : undefined;
    if (!isJsonObject(content) || content["confirm"] !== true) {
      throw createRefusal(CONFIRMATION_DECLINED, call, `The user did not agree to "${tool.id}".`, {
        suggestion: "Do not call it again unless the user asks for it.",
      });
    }
    // The user agreed to the tool as it was when they were asked, which may be minutes ago.
    const present = tool.request ? tool : gateway.catalog.tool(tool.id);
    if (present && hashTool(present) === hashTool(tool)) return;
    throw createRefusal(TOOL_CHANGED, call, `"${tool.id}" has changed since the user was asked.`, {
      suggestion: "Look at the tool again, and make the call anew if it is still what the user wants.",
    });
  }
}

function createQuestion(call: Call, tool: Tool): string {
  const { riskLevel, reversible } = getPolicy(tool);
  // Escapes, so that the size is that of what is shown, and nothing of it is invisible.
  const given = JSON.stringify(call.args).replace(INVISIBLE, toEscapes);
  // Both ends: what decides, such as a receiver, may be behind something long.
  const half = MAX_ARGUMENTS / 2;
  const left = given.length - MAX_ARGUMENTS;
  const args =
    left <= 0
      ? given
      : `${given.slice(0, half)} … (${left} of ${given.length} characters left out) … ${given.slice(-half)}`;
  const harm = reversible ? `Its risk is ${riskLevel}.` : "It cannot be undone.";
  return `Shall "${tool.id}" be called with ${args}? ${harm}`;
}

function toEscapes(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
