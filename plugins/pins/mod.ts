/**
 * Pins: a tool whose definition changes, or whose texts give orders to a model, waits until a person approves it.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin, type PluginFactory } from "../../core/mod.ts";

/** Options of {@link pins}. */
export interface PinsOptions {
  /**
   * Whether a tool that was never seen is trusted from then on (`trust`), or waits for approval (`ask`); `off` pins
   * nothing. By default `trust` where the plugin `guard` is used, and `off` elsewhere.
   */
  readonly firstUse?: "trust" | "ask" | "off";
}

const options = v.strictObject({ firstUse: v.optional(v.picklist(["trust", "ask", "off"])) });

/**
 * Pins the definition of each tool when it is first used. A tool whose definition differs later, or whose texts hide
 * something or give orders to a model, is held back until a person approves it.
 */
export const pins: PluginFactory<"pins", PinsOptions> = definePlugin({
  name: "pins",
  uses: ["state", "approvals", "servers?"],
  keys: ["pins"],
  options: options as v.GenericSchema<PinsOptions>,
  async setup(gateway, { firstUse = gateway.plugins.includes("guard") ? "trust" : "off" }) {
    if (firstUse === "off") return;
    // Loaded only where it is on: the patterns of the scan are large, and every preset lists this plugin.
    const { createPins, createToolApprovals } = await import("./pins.ts");
    const { approvals, state: store } = gateway.services;
    const pinned = createPins({ gateway, store, approvals, firstUse });
    const gate = approvals.gateTools((tool, isCalled) =>
      pinned.isPinned(tool) ? undefined : pinned.judge(tool, isCalled),
    );
    gateway.register("approval", "tool", createToolApprovals({ gateway, approvals, gate, pinned }));
    return { "catalog:change": () => pinned.flush(), close: () => pinned.flush() };
  },
});
