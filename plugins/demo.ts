import { definePlugin, type LocalTool, localTools, textResult } from "../core/mod.ts";

const tools: readonly LocalTool[] = [
  {
    name: "add",
    description: "Adds two numbers.",
    inputSchema: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true },
    run: ({ a, b }) => textResult(String(Number(a) + Number(b))),
  },
  {
    name: "word_count",
    description: "Counts the words of a text.",
    inputSchema: {
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true },
    run: ({ text }) => textResult(String(String(text).split(/\s+/).filter(Boolean).length)),
  },
  {
    name: "countdown",
    description: "Counts down to zero, one step every 20 ms, and reports its progress.",
    inputSchema: {
      type: "object",
      properties: { from: { type: "integer", minimum: 1, maximum: 100 } },
      required: ["from"],
      additionalProperties: false,
    },
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
];

/** Adds a server of three small tools, to see the pipeline at work with nothing else installed. */
export const demo = definePlugin({
  name: "demo",
  uses: [],
  order: "post",
  setup: (gateway) =>
    localTools("demo", { id: "demo", description: "Three small tools to try the gateway with" }, tools).setup(
      gateway,
    ),
});
