/**
 * The guard: what operations may do harm, who may call them, and that they happen once at most.
 *
 * @module
 */
import {
  type Call,
  definePlugin,
  GatewayError,
  type Next,
  type PluginFactory,
  type Tool,
} from "../../core/mod.ts";
import { createConfirming } from "./confirm.ts";
import { createHashes } from "./definition.ts";
import { answerDryRun } from "./dry-run.ts";
import { checkKey, checkScopes, checkTool } from "./enforce.ts";
import { fateOf, isTurnedAway } from "./fate.ts";
import { type Holding, holdTools } from "./hold.ts";
import { createMemory, type Memory } from "./memory.ts";
import { keyOf, once, unkeyed } from "./once.ts";
import { type GuardOptions, type GuardSettings, guardOptions } from "./options.ts";
import type { HeldTool } from "./pins.ts";
import { createPolicies, definePolicy } from "./policies.ts";
import { policyOf } from "./policy.ts";
import { guardRequest } from "./request-meta.ts";
import { guardStore } from "./store.ts";

export type { Clock } from "./clock.ts";
export type { Elicit, ElicitAnswer } from "./elicit.ts";
export { type Beginning, type Begun, type Idempotency, idempotencyIn } from "./idempotency.ts";
export { inferPolicy } from "./infer.ts";
export type { GuardOptions } from "./options.ts";
export type { PolicyOverride } from "./overrides.ts";
export type { HeldTool } from "./pins.ts";
export { type OperationPolicy, policyOf, type RiskLevel } from "./policy.ts";
export { memoryLimiter, type RateBucket, type RateLimit, type RateLimiter, type Taken } from "./rate.ts";
export { stateLimiter } from "./rate-state.ts";
export { type Rates, type RatesOptions, rates } from "./rates.ts";
export { requestMeta } from "./request-meta.ts";

/** What can be asked of the guard. */
export interface Guard {
  /** The tools that wait for a person to look at them. */
  waiting(): readonly HeldTool[];
  /** Approves what waits under the id of a tool, or all that waits of a server; returns what was approved, if anything. */
  approve(id: string): Promise<readonly HeldTool[]>;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `guard`. */
    guard?: Guard;
  }
}

const FIRST_SWEEP_MS = 300_000;
const SWEEP_MS = 3_600_000;
const CLOSE_MS = 5_000;

/**
 * Says of every tool how much harm it can do, and lets no call through that lacks what that asks for: scopes, a
 * confirmation, a key under which it happens once at most. Its hooks come before those of other plugins, so that a
 * call is confirmed and its key written down before `audit` records that it is about to be made.
 */
export const guard: PluginFactory<"guard", GuardOptions, GuardSettings> = definePlugin({
  name: "guard",
  order: "pre",
  keys: ["guard"],
  options: guardOptions,
  setup(gateway, settings) {
    if (!settings.enabled) return;
    const hashOf = createHashes();
    const policyFor = createPolicies(gateway, settings);
    let memory: Memory | undefined;
    const remember = (): Memory => {
      memory ??= createMemory(guardStore(gateway), settings);
      return memory;
    };
    const holding: Holding = holdTools(gateway, () => ({
      store: remember().store,
      hashOf,
      firstUse: settings.pin === "ask" ? "ask" : "trust",
    }));
    const confirming = createConfirming({
      gateway,
      mode: settings.confirmation,
      confirmations: () => remember().confirmations,
      hashOf,
    });
    const underWay = new Set<Promise<void>>();
    const judged = new WeakSet<Tool>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isClosed = false;
    gateway.services.guard = { waiting: holding.waiting, approve: holding.approve };

    return {
      ready: () => sweepIn(FIRST_SWEEP_MS),
      "tool:discover"(tool) {
        definePolicy(tool, policyFor);
        return settings.pin === "off" ? undefined : holding.discover(tool);
      },
      "catalog:change": () => holding.flush(),
      resolve({ tool, toolId }) {
        // What is bound to a call before anything looks for it never came through the catalog.
        if (tool && !tool.builtin && !judged.has(tool)) {
          judged.add(tool);
          definePolicy(tool, policyFor);
        }
        return holding.recheck(toolId);
      },
      policy(call) {
        const { tool } = call;
        if (!tool || tool.builtin) return;
        checkTool(call, tool, holding.heldOf(tool));
        const policy = policyOf(tool);
        checkScopes(call, policy, settings.scopes);
        const request = guardRequest(call.meta);
        if (request.dryRun) return;
        checkKey(call, policy, request, !settings.allowVolatile && remember().isVolatile);
        return confirming.checkPresence(call, tool);
      },
      execute(call, next) {
        const { tool } = call;
        if (!tool || tool.builtin) return next();
        if (guardRequest(call.meta).dryRun) return answerDryRun(call, tool, next);
        const { confirmationRequired } = policyOf(tool);
        if (!confirmationRequired && !isWorthAKey(tool)) return next();
        // A call that is given up is answered at once, but goes on until it is written down how it ended.
        const done = protect(call, tool, next).finally(() => underWay.delete(done));
        underWay.add(done);
        return done;
      },
      async close() {
        isClosed = true;
        clearTimeout(timer);
        await Promise.race([Promise.allSettled(underWay), wait(CLOSE_MS)]);
        await holding.flush();
      },
    };

    async function protect(call: Call, tool: Tool, next: Next): Promise<void> {
      const { key } = guardRequest(call.meta);
      const purpose = typeof key === "string" ? keyOf(call, key) : call.id;
      await confirming.confirm(call, tool, purpose);
      let isBegun = typeof key !== "string";
      const send: Next = () => {
        isBegun = true;
        return next();
      };
      try {
        if (typeof key !== "string" || !isWorthAKey(tool)) await unkeyed(call, tool, send);
        else
          await once(
            { gateway, hashOf, idempotency: remember().idempotency, ...settings },
            call,
            tool,
            key,
            send,
          );
        if (isTurnedAway(tool, call.result)) await giveBack();
      } catch (thrown) {
        // Not where the key is another call's: what confirmed that one is in use.
        if (isBegun && fateOf(thrown) === "not sent") await giveBack();
        throw thrown;
      }

      function giveBack(): Promise<void> {
        return confirming
          .giveBack(call, purpose)
          .catch((lost: unknown) => gateway.report(GatewayError.from(lost)));
      }
    }

    function sweepIn(ms: number): void {
      if (isClosed) return;
      timer = setTimeout(() => {
        remember()
          .sweep()
          .catch((thrown: unknown) => gateway.report(GatewayError.from(thrown)))
          .finally(() => sweepIn(SWEEP_MS));
      }, ms);
      timer.unref?.();
    }
  },
});

/** What only reads may as well be done again, unless somebody has said otherwise. */
function isWorthAKey(tool: Tool): boolean {
  const { riskLevel, idempotencyRequired } = policyOf(tool);
  return riskLevel !== "low" || idempotencyRequired;
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref?.();
  });
}
