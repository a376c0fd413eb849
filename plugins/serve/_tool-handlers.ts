import { isJsonObject } from "../../core/mod.ts";
import { cacheable, type Handlers, invalid } from "./_handler.ts";
import { legacyResult, legacyTools } from "./_legacy-tools.ts";
import type { Front } from "./front.ts";

/** What clients ask of tools. */
export function toolHandlers(front: Pick<Front, "list" | "call">): Handlers {
  return {
    "tools/list": (_params, { modern, info }) => ({
      tools: modern ? front.list(info) : legacyTools(front.list(info)),
      ...(modern && cacheable),
    }),
    "tools/call": ({ name, arguments: args, _meta }, handling) => {
      if (typeof name !== "string") throw invalid("A call needs the name of a tool.");
      const { signal, actor, client, input, report, onEffect } = handling;
      const answer = front.call(name, args, {
        signal,
        meta: isJsonObject(_meta) ? _meta : {},
        onEffect,
        ...(actor && { actor }),
        ...(client && { client }),
        ...(input && { input }),
        ...(report && { onProgress: report }),
      });
      return handling.modern ? answer : answer.then(legacyResult);
    },
  };
}
