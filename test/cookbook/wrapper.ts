/**
 * A wrapper: keeps the results of read-only tools for a while, and answers equal calls of the same caller with them.
 *
 * { "plugins": ["./wrapper.ts"], "options": { "memo": { "seconds": 60 } } }
 */
import { definePlugin, type ToolResult } from "toolpipe";
import * as v from "valibot";

export const memo = definePlugin({
  name: "memo",
  uses: ["cache"],
  options: v.strictObject({
    seconds: v.optional(v.pipe(v.number(), v.description("How long a result is kept; 60 by default.")), 60),
  }),
  setup({ services: { cache } }, { seconds }) {
    return {
      async execute(call, next) {
        const { tool, args, actor } = call;
        if (!tool || tool.builtin || !tool.annotations?.readOnlyHint) return next();
        const key = `memo/${JSON.stringify([actor.id, tool.id, args])}`;
        const kept = (await cache.get(key)) as ToolResult | undefined;
        if (kept) {
          call.result = kept;
          call.via = "memo";
          return;
        }
        await next();
        if (call.result && !call.result.isError) await cache.set(key, call.result, seconds * 1000);
      },
    };
  },
});
