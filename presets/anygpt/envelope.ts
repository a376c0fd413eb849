import { type ContentBlock, errorKinds, type GatewayError, type ToolResult } from "../../core/mod.ts";
import { type ExecutionError, toExecutionError } from "../../plugins/lib/jsonrpc.ts";

/** Outcome of an execution, in the form of the specification. */
export interface ExecutionResult {
  readonly success: boolean;
  /**
   * The tool's own value: its structured content, or its text, parsed if that is a JSON object or list. A list of such
   * values if there are several texts, and null if there are none.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the type of the specification, so that `result.issue_number` compiles
  readonly result?: any;
  readonly error?: ExecutionError;
  /** All content of a tool that returned more than text, such as images, which `result` does not hold. */
  readonly content?: readonly ContentBlock[];
}

/** Creates the outcome of a tool that has answered; its own failure is an error too. */
export function toExecutionResult(answer: ToolResult, server: string, tool: string): ExecutionResult {
  const { content, isError } = answer;
  const rest = content.every(isText) ? {} : { content };
  if (isError) return { success: false, error: toToolError(answer, server, tool), ...rest };
  return { success: true, result: toValue(answer), ...rest };
}

/** Creates the outcome of a call that ended without an answer of the tool. */
export function toFailedResult(error: GatewayError, server: string, tool: string): ExecutionResult {
  return { success: false, error: toExecutionError(error, server, tool) };
}

/** Wraps an answer for an agent: the outcome as JSON, followed by the content that JSON does not hold. */
export function wrapAnswer(
  answer: ToolResult,
  server: string,
  tool: string,
  { structured }: { readonly structured: boolean },
): ToolResult {
  // A question to the client is no outcome.
  if (answer.resultType !== undefined) return answer;
  const { content, ...outcome } = toExecutionResult(answer, server, tool);
  const { _meta } = answer;
  return {
    content: [
      { type: "text", text: JSON.stringify(outcome) },
      ...(content ?? []).filter((block) => !isText(block)),
    ],
    ...(structured && { structuredContent: outcome }),
    ...(!outcome.success && { isError: true }),
    ...(_meta && { _meta }),
  };
}

/** Returns the value of an answer, as {@link ExecutionResult.result} has it. */
export function toValue({ content, structuredContent }: ToolResult): unknown {
  if (structuredContent !== undefined) return structuredContent;
  const values = content.filter(isText).map((block) => parseText(String(block["text"])));
  return values.length > 1 ? values : (values[0] ?? null);
}

function toToolError(
  { content, structuredContent }: ToolResult,
  server: string,
  tool: string,
): ExecutionError {
  const texts = content.filter(isText).map((block) => String(block["text"]));
  const message = texts.join("\n") || "The tool failed and did not say why.";
  const details = structuredContent === undefined ? {} : { details: structuredContent };
  return { code: errorKinds.INTERNAL.spec, message, server, tool, ...details };
}

function isText({ type }: ContentBlock): boolean {
  return type === "text";
}

/** Strings of JSON, and numbers outside of them. */
const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/gs;

/** Parses a JSON object or list. Text with a number that would lose digits stays text, as any other text does. */
export function parseText(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    const value: unknown = JSON.parse(text);
    const isExact = [...text.matchAll(token)].every(([part]) => part.startsWith('"') || isExactNumber(part));
    return isExact ? value : text;
  } catch {
    return text;
  }
}

/** Whether a number of JSON is not changed by parsing: a large integer, such as an id, would be another one. */
function isExactNumber(text: string): boolean {
  const value = Number(text);
  return /^-?\d+$/.test(text) ? Number.isSafeInteger(value) : Number.isFinite(value);
}
