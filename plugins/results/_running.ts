import type { Progress, ToolResult } from "../../core/mod.ts";
import { argumentsFor, howToRead } from "./_note.ts";

/** A call whose caller no longer waits. */
export interface Running {
  readonly actor: string;
  /** What is called, for whoever reads. */
  readonly name: string;
  /** When it began, as `performance.now()` has it. */
  readonly began: number;
  progress(): Progress | undefined;
  /** Resolves once its result can be read. */
  readonly done: Promise<void>;
}

/** What there is to say of a call while it runs. */
export function runningText({ name, began, progress }: Running, uri: string): string {
  const seconds = Math.round((performance.now() - began) / 1000);
  const last = progress();
  const how = last ? ` Its last progress was ${describe(last)}.` : " It has reported no progress.";
  return `${name} is still running, after ${seconds} s.${how} Read its result later with ${howToRead}: ${argumentsFor(uri)}`;
}

/** What the caller is answered with in place of the result. */
export function runningResult(running: Running, uri: string): ToolResult {
  const link = { uri, name: "result", description: `The result of ${running.name}, once it is there.` };
  return {
    content: [
      { type: "text", text: runningText(running, uri) },
      { type: "resource_link", ...link },
    ],
  };
}

function describe({ progress, total, message }: Progress): string {
  const share = total === undefined ? String(progress) : `${progress} of ${total}`;
  return message === undefined ? share : `${share} (${message.slice(0, 200)})`;
}
