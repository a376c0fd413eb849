import {
  type Gateway,
  type JsonObject,
  type LocalTool,
  localTools,
  type Plugin,
  type ToolResult,
  textResult,
} from "../../../core/mod.ts";
import type { StateStore } from "../../../core/services/state.ts";
import { type GuardOptions, guard, requestMeta } from "../../../plugins/guard/mod.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { checkArguments, lastingStore, provideState } from "../../support/services.ts";

/** A bank that counts what it does, behind a guard. */
export interface Guarded {
  readonly gateway: Gateway;
  /** The calls that reached the bank. */
  readonly effects: JsonObject[];
  readonly store: StateStore;
}

/** Options of a bank. */
export interface BankOptions {
  readonly guard?: GuardOptions;
  /** More plugins, right after the guard. */
  readonly checks?: readonly Plugin[];
  /** Answers in place of the bank. */
  readonly answer?: (args: JsonObject, effects: number) => ToolResult | Promise<ToolResult>;
  /** More plugins, behind the guard. */
  readonly plugins?: readonly Plugin[];
  readonly store?: StateStore;
  /** Plugin that provides the store, in place of a small one. */
  readonly state?: Plugin;
  readonly tools?: readonly Omit<LocalTool, "run">[];
}

const amount = {
  type: "object",
  properties: { amount: { type: "integer" } },
  required: ["amount"],
  additionalProperties: false,
};

const bankTools: readonly Omit<LocalTool, "run">[] = [
  { name: "charge", description: "Charges a card.", inputSchema: amount },
  { name: "refund", description: "Refunds a charge.", inputSchema: amount },
  { name: "get_balance", description: "Says what is left.", inputSchema: { type: "object" } },
  { name: "create_note", description: "Adds a note.", inputSchema: { type: "object" } },
  { name: "delete_account", description: "Deletes an account.", inputSchema: amount },
];

/** Opens a bank behind a guard, until the test is over. */
export async function openBank(options: BankOptions = {}): Promise<Guarded> {
  const effects: JsonObject[] = [];
  const store = options.store ?? lastingStore();
  const run: LocalTool["run"] = (args) => {
    effects.push(args);
    return options.answer?.(args, effects.length) ?? textResult(`done ${effects.length}`);
  };
  const tools = (options.tools ?? bankTools).map((tool) => ({ ...tool, run }));
  const gateway = await openGateway({
    plugins: [
      options.state ?? provideState(store),
      guard(options.guard),
      ...(options.checks ?? []),
      checkArguments(),
      ...(options.plugins ?? []),
      localTools("bank", { id: "bank" }, tools),
    ],
  });
  return { gateway, effects, store };
}

/** The metadata of a request with a key. */
export function keyed(key: string, rest: JsonObject = {}): JsonObject {
  return { [requestMeta.idempotencyKey]: key, ...rest };
}

/** The metadata of a request that the user has confirmed. */
export const confirmed: JsonObject = { [requestMeta.confirmed]: true };
