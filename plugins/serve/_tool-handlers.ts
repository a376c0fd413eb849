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
      const { cancellation, actor, client, input, report, onEffect } = handling;
      const meta = isJsonObject(_meta) ? _meta : {};
      const options = { cancellation, meta, onEffect, actor, client, input, onProgress: report };
      const answer = front.call(name, args, options);
      return handling.modern ? answer : answer.then(legacyResult);
    },
  };
}
