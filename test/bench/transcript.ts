import { encode } from "gpt-tokenizer/encoding/o200k_base";
import type { Story, StoryStep } from "./_story.ts";

const WIDTH = 108;
const INDENT = 11;
const LONGEST_ANSWER = 3;

/** A story as text: every request, the beginning of every answer, and the tokens of both. */
export function transcript(story: Story): string {
  const { steps, tools, directTools } = story;
  const lines = [entry(tokens(tools), " ", "the list of the five meta-tools"), ...steps.flatMap(describe)];
  const all = storyTokens(story);
  const direct = tokens(directTools);
  return [
    "The agent is asked: Read README.md, then create an issue of what it leaves open.",
    "",
    " tokens",
    ...lines,
    entry(all, " ", `in all. The lists of tools of the two servers take ${direct}, before anything is done.`),
  ].join("\n");
}

/** The duration of the run, from the list of tools to the last answer. */
export function storyTokens({ steps, tools }: Story): number {
  return steps.reduce((sum, step) => sum + tokens(formatRequest(step)) + tokens(step.answer), tokens(tools));
}

function describe(step: StoryStep): string[] {
  const request = formatRequest(step);
  return [
    entry(tokens(request), "→", request),
    entry(tokens(step.answer), "←", step.answer.trim(), LONGEST_ANSWER),
  ];
}

function formatRequest({ tool, args }: StoryStep): string {
  return `${tool} ${JSON.stringify(args)}`;
}

function entry(count: number, sign: string, text: string, most: number = Number.POSITIVE_INFINITY): string {
  const lines = wrapped(text.replace(/\s+/g, " "));
  const printed = lines.slice(0, most);
  const rest = lines.length > most ? " …" : "";
  return `${String(count).padStart(7)} ${sign} ${printed.join(`\n${" ".repeat(INDENT - 1)}`)}${rest}`;
}

/** Breaks at spaces and after commas, which JSON has enough of. */
function wrapped(text: string): string[] {
  const lines: string[] = [""];
  for (const part of text.split(/(?<=[ ,])/)) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && line.length + part.trimEnd().length > WIDTH - INDENT) lines.push(part);
    else lines[lines.length - 1] = line + part;
  }
  return lines.map((line) => line.trimEnd());
}

function tokens(text: string): number {
  return encode(text).length;
}
