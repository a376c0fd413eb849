/**
 * Pins: a tool whose definition changes, or whose texts give orders to a model, waits until the user approves it.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin, type Hooks } from "../../core/mod.ts";
import { option } from "../lib/options.ts";
import { stripTool } from "./hidden.ts";

const options = v.strictObject({
  firstUse: option(
    v.picklist(["trust", "ask", "scan", "off"]),
    "Treatment of a new tool: `trust` pins it at once, `ask` holds it back until it is approved, `scan` pins nothing and holds back only tools whose texts hide something or give orders to a model, `off` does nothing. Without it `trust` if the plugin `guard` is used, else `scan`.",
  ),
});

/** Options for the pins plugin. */
export type PinsOptions = v.InferInput<typeof options>;

/**
 * Pins the definition of each tool when it is first used. A tool whose definition differs later, or whose texts hide
 * something or give orders to a model, is held back until the user approves it.
 */
export const pins = definePlugin({
  name: "pins",
  uses: ["state", "approvals", "adapters?", "servers?"],
  keys: ["pins"],
  options,
  async setup(gateway, { firstUse = gateway.plugins.includes("guard") ? "trust" : "scan" }) {
    // Also for a tool that was approved, and where nothing is held back: what is not seen cannot be judged.
    const strip: Hooks["tool:discover"] = (tool) => (tool.builtin ? undefined : stripTool(tool));
    if (firstUse === "off") return { "tool:discover": strip };
    // Loaded only where it is on: the patterns of the scan are large, and every preset lists this plugin.
    const { createPins, createToolApprovals } = await import("./pins.ts");
    const { approvals, state: store } = gateway.services;
    const pinned = createPins({ gateway, store, approvals, firstUse });
    const gate = approvals.gateTools((tool, isCalled) =>
      pinned.isPinned(tool) || !isListed(tool.server) ? undefined : pinned.judge(tool, isCalled),
    );
    /** Tools that a config describes are not yet those of their server, which would count as a change. */
    function isListed(server: string): boolean {
      const status = gateway.services.servers?.status(server);
      return status?.config.declaredTools === undefined || status.listedAt !== undefined;
    }
    gateway.register("approval", "tool", createToolApprovals({ gateway, approvals, gate, pinned }));
    return { "tool:discover": strip, "catalog:change": () => pinned.flush(), close: () => pinned.flush() };
  },
});
