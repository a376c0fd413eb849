import type { ContentBlock } from "../../core/mod.ts";
import { defineCommand } from "../../core/services/command.ts";
import { anygpt } from "../../presets/anygpt/mod.ts";
import { demo as demoTools } from "../demo.ts";
import { trace } from "../trace.ts";
import { withGateway } from "./context.ts";

const calls: readonly (readonly [tool: string, args: object, why: string])[] = [
  ["demo:add", { a: 2, b: 3 }, "A tool, called through the five stages"],
  ["demo:word_count", { text: "one pipeline for every tool" }, "Another one"],
  ["demo:countdown", { from: 3 }, "One that reports its progress"],
  ["demo:add", { a: 2, b: "three" }, "Wrong arguments end in the validate stage"],
  ["demo:subtract", {}, "An unknown tool ends in the resolve stage"],
  ["anygpt:search_tools", { query: "count words" }, "An agent searches the catalog"],
  [
    "anygpt:execute_tool",
    { server: "demo", tool: "word_count", arguments: { text: "found and called" } },
    "and executes the tool it found, a call within a call",
  ],
];

/** Calls a few built-in tools and prints the stages of each call. */
export const command = defineCommand({
  async run() {
    const print = (line: string): void => {
      process.stdout.write(`${line}\n`);
    };
    const config = { preset: anygpt, options: { cache: { enabled: false } } };
    await withGateway(
      config,
      async (gateway) => {
        print(`toolpipe: the preset "anygpt" over a demo server of ${gateway.catalog.tools().length} tools.`);
        for (const [tool, args, why] of calls) {
          print(`\n${why}: ${JSON.stringify(args)}`);
          const call = await gateway.run({
            tool,
            args,
            onProgress: ({ progress, total, message }) => print(`  … ${progress} of ${total}: ${message}`),
          });
          if (call.ok) print(`  → ${call.result.content.map(toPlainText).join("\n")}`);
        }
        print("\nNext: write a toolpipe.config.ts and your own plugins, as the README shows.");
      },
      [demoTools(), trace({ write: print })],
    );
  },
});

function toPlainText(block: ContentBlock): string {
  return block.type === "text" ? String(block["text"]) : `[${block.type}]`;
}
