/**
 * The guard: risk policies of tools, scopes, confirmations, and idempotency keys under which a call happens once.
 *
 * @module
 */
import { type Call, definePlugin, GatewayError, type Next, type Tool } from "../../core/mod.ts";
import {
  createRefusal,
  getOutcome,
  getPolicy,
  isTurnedAway,
  OUTCOME_UNKNOWN,
  readGuardRequest,
} from "../../core/services/policy.ts";
import { sleep } from "../lib/backoff.ts";
import { createToolHasher } from "../lib/hash.ts";
import { createConfirmationCheck } from "./confirmation-check.ts";
import { checkKey, checkScopes, createVolatileError } from "./enforce.ts";
import * as guardErrors from "./errors.ts";
import { createGuardState } from "./guard-state.ts";
import { runOnce, runWithoutKey, toCallKey } from "./once.ts";
import { guardOptions } from "./options.ts";
import { createPolicies, definePolicy } from "./policies.ts";

export { requestMeta } from "../../core/services/policy.ts";
export { type Beginning, type Begun, createIdempotency, type Idempotency } from "./idempotency.ts";
export type { GuardOptions } from "./options.ts";
export type { PolicyOverride } from "./policies.ts";

const CLOSE_MS = 5_000;

/**
 * Gives every tool a risk policy, and refuses calls that lack what the policy requires: scopes, a confirmation, an
 * idempotency key under which the call happens at most once. Its hooks run before those of other plugins, so that a
 * call is confirmed and its key stored before `audit` records the intent.
 */
export const guard = definePlugin({
  name: "guard",
  uses: ["state?", "clients?", "adapters?"],
  order: "pre",
  keys: ["guard"],
  options: guardOptions,
  errors: { ...guardErrors, OUTCOME_UNKNOWN },
  setup(gateway, settings) {
    if (!settings.enabled) return;
    const hashTool = createToolHasher();
    const infer = createPolicies(gateway, settings);
    const state = createGuardState(gateway, settings);
    const confirming = createConfirmationCheck({
      gateway,
      mode: settings.confirmation,
      confirmations: state.confirmations,
      hashTool,
    });
    const isShared = state.store.shared !== undefined;
    const running = new Set<Promise<void>>();
    const judged = new WeakSet<Tool>();

    return {
      ready: () => state.startSweeping(),
      "tool:discover": (tool) => definePolicy(tool, infer),
      resolve({ tool }) {
        // A tool that the caller bound to the call never passed "tool:discover".
        if (tool && !tool.builtin && !judged.has(tool)) {
          judged.add(tool);
          definePolicy(tool, infer);
        }
      },
      policy(call) {
        const { tool } = call;
        if (!tool || tool.builtin) return;
        const policy = getPolicy(tool);
        // A later resolve hook may have bound a tool of its own: other plugins look for its policy here.
        if (!tool.policy && Object.isExtensible(tool)) tool.policy = policy;
        checkScopes(call, policy, settings.scopes);
        const request = readGuardRequest(call.meta);
        if (request.dryRun) return;
        checkKey(call, policy, request, !settings.allowVolatile && state.isVolatile, isShared);
        return confirming.checkPresence(call, tool);
      },
      execute(call, next) {
        const { tool } = call;
        if (!tool || tool.builtin) return next();
        if (readGuardRequest(call.meta).dryRun) return answerDryRun(call, tool, next);
        const { confirmationRequired } = getPolicy(tool);
        if (!confirmationRequired && !needsKey(tool)) return next();
        // A cancelled call is answered at once, but runs on until its outcome is stored.
        const done = protect(call, tool, next).finally(() => running.delete(done));
        running.add(done);
        return done;
      },
      async close() {
        state.stopSweeping();
        const stored = Promise.allSettled(running).then(() => state.outbox.close());
        await Promise.race([stored, sleep(CLOSE_MS, undefined, false)]);
      },
    };

    /** Throws if Redis has lost the keys of earlier calls, or turns out to keep none of them. */
    async function checkKept(call: Call, tool: Tool): Promise<void> {
      await state.store.checkKept?.().catch((thrown: unknown) => {
        const { kind, message, data } = GatewayError.from(thrown);
        throw createRefusal(kind, call, `"${tool.id}" is not called: ${message}`, {
          cause: thrown,
          suggestion: "Ask the operator of the gateway what was done, before anything is done again.",
          data: { ...data, sent: false, safe_new_key: false },
        });
      });
      if (getPolicy(tool).idempotencyRequired && !settings.allowVolatile && state.isVolatile)
        throw createVolatileError(call, isShared);
    }

    async function protect(call: Call, tool: Tool, next: Next): Promise<void> {
      const { key } = readGuardRequest(call.meta);
      const purpose = typeof key === "string" ? toCallKey(call, key) : call.id;
      await confirming.confirm(call, tool, purpose);
      let isBegun = typeof key !== "string";
      const send: Next = () => {
        isBegun = true;
        return next();
      };
      try {
        if (typeof key !== "string" || !needsKey(tool)) await runWithoutKey(call, tool, send);
        else
          await runOnce(
            {
              gateway,
              hashTool,
              idempotency: state.idempotency,
              outbox: state.outbox,
              checkKept: () => checkKept(call, tool),
              ...settings,
            },
            call,
            tool,
            key,
            send,
          );
        if (isTurnedAway(tool, call.result)) await giveBack();
      } catch (thrown) {
        // Not if the key belongs to another call: its confirmation is in use.
        if (isBegun && getOutcome(thrown) === "not sent") await giveBack();
        throw thrown;
      }

      function giveBack(): Promise<void> {
        return confirming
          .giveBack(call, purpose)
          .catch((lost: unknown) => gateway.report(GatewayError.from(lost)));
      }
    }
  },
});

/** Answers a dry run with the call as it would be made. The plugin `openapi` does so for its operations itself. */
export function answerDryRun(call: Call, tool: Tool, next: Next): Promise<void> {
  if (tool.operation) return next();
  const request = { server: tool.server, tool: tool.name, arguments: call.args };
  const value = { dry_run: true, request };
  call.via = "dry run";
  call.result = { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
  return Promise.resolve();
}

/** Returns whether a call runs under a key. Reading again does no harm, unless the config requires a key. */
function needsKey(tool: Tool): boolean {
  const { riskLevel, idempotencyRequired } = getPolicy(tool);
  return riskLevel !== "low" || idempotencyRequired;
}
