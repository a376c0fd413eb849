import { localTools, type Plugin, textResult } from "../../core/mod.ts";

/** A tool that counts down to zero, one step every 20 ms, and reports its progress. */
export function countdown(): Plugin {
  return localTools("counter", { id: "counter" }, [
    {
      name: "countdown",
      inputSchema: { type: "object", properties: { from: { type: "integer" } }, required: ["from"] },
      annotations: { readOnlyHint: true },
      async run({ from }, { call }) {
        const total = Number(from);
        for (let step = 1; step <= total; step++) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          call.signal.throwIfAborted();
          call.report({ progress: step, total, message: String(total - step) });
        }
        return textResult("Liftoff!");
      },
    },
  ]);
}
