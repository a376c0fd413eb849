import { definePlugin, type PluginFactory } from "../../../core/mod.ts";
import type {} from "./operation.ts";

/**
 * Says of every tool which operation of an API it is, before any other plugin looks at it. Where it is missing, the
 * plugin `openapi` says it last, which is too late for a plugin that judges tools by it.
 */
export const knownOperations: PluginFactory<"known-operations"> = definePlugin({
  name: "known-operations",
  order: "pre",
  needs: ["openapi"],
  setup: (gateway) => ({
    "tool:discover"(tool) {
      const operation = gateway.services.adapters?.operationOf?.(tool);
      if (operation) tool.operation = operation;
    },
  }),
});
