import {
  type ContentBlock,
  errorKinds,
  type GatewayError,
  type Progress,
  type ToolResult,
} from "../../core/mod.ts";
import { type ExecutionError, executionError, toolError } from "../../presets/anygpt/failure.ts";
import { coloured, shownLine, shownLines } from "../lib/terminal/output.ts";

/** What is printed of an execution, step by step. */
export interface ExecutionView {
  begin(): void;
  progress(progress: Progress): void;
  /** Returns the exit code, as the other one does. */
  end(result: ToolResult): number;
  fail(error: GatewayError): number;
}

/** Shows an execution as the specification does, or as JSON: all of it in one object, or each event in one. */
export function executionView(
  { server, tool }: { readonly server: string; readonly tool: string },
  { json, stream }: { readonly json?: boolean | undefined; readonly stream?: boolean | undefined },
): ExecutionView {
  let steps = 0;
  const printJson = (event: string, value: object): void => {
    process.stdout.write(`${JSON.stringify(stream ? { type: event, ...value } : value)}\n`);
  };
  const printText = (text: string): void => {
    process.stdout.write(steps > 0 ? `\n${text}` : text);
  };
  const printError = (error: ExecutionError): void => {
    const { code, message } = error;
    if (json) printJson("result", { success: false, error });
    else
      printText(
        `${coloured("✗ Error")}\n\nCode: ${code}\nMessage: ${shownLines(message)}\nServer: ${shownLine(server)}\nTool: ${shownLine(tool)}\n`,
      );
  };

  return {
    begin() {
      if (!json) process.stdout.write(`Executing: ${shownLine(`${server}:${tool}`)}\n\n`);
    },
    progress(progress) {
      if (!stream) return;
      if (json) return printJson("progress", progress);
      steps++;
      process.stdout.write(`${stepOf(progress)}\n`);
    },
    end(result) {
      if (result.isError) {
        printError(toolError(result, server, tool));
        return errorKinds.INTERNAL.exit;
      }
      if (json) printJson("result", { success: true, result });
      else
        printText(
          `${coloured("✓ Success")}\n\nResult:\n${shownLines(textOf(result)).replace(/^/gm, "  ")}\n`,
        );
      return 0;
    },
    fail(error) {
      printError(executionError(error, server, tool));
      return error.kind.exit;
    },
  };
}

function stepOf({ progress, total, message }: Progress): string {
  const place = total === undefined ? `${progress}` : `${progress} of ${total}`;
  return `… ${place}${message === undefined ? "" : `: ${shownLines(message)}`}`;
}

function textOf({ content, structuredContent }: ToolResult): string {
  if (content.length > 0) return content.map(blockText).join("\n");
  return structuredContent === undefined ? "(nothing)" : JSON.stringify(structuredContent, null, 2);
}

function blockText(block: ContentBlock): string {
  if (block.type === "text") return String(block["text"]);
  const facts = [block["mimeType"], block["uri"]].filter((fact) => typeof fact === "string");
  return `[${[block.type, ...facts].join(" ")}]`;
}
