import { randomBytes } from "node:crypto";
import type { ContentBlock, Progress, ToolResult } from "../../core/mod.ts";

/** A part of a result that is not shown. */
export interface OmittedPart {
  /** URI under which it can be read; undefined if it is too large to be kept. */
  readonly uri: string | undefined;
  readonly description: string;
}

/** The parts of a URI of a kept result. */
export interface ResultUri {
  readonly id: string;
  /** Name of a part; undefined for the whole result. */
  readonly part: string | undefined;
  /** First character to read of the part. */
  readonly offset: number;
}

/** A call that goes on after its client was answered with a link. */
export interface RunningCall {
  readonly actor: string;
  /** Name of the tool, for the reader of the link. */
  readonly name: string;
  /** Time of its start, on the clock of `performance.now()`. */
  readonly startedAt: number;
  progress(): Progress | undefined;
  /** Resolves once its result can be read. */
  readonly done: Promise<void>;
}

/** The server and the tool by which an agent reads what it was not shown. */
export const reader = { server: "toolpipe", tool: "read_result" } as const;

/**
 * Names a tool, because most agents can call tools and cannot read resources. The tool is in no list: a list costs every
 * agent tokens, and this hint costs only those that need the tool.
 */
const HINT = `the tool "${reader.tool}" of the server "${reader.server}"`;
const PREFIX = "toolpipe://results/";
const PATTERN = /^([\w-]{22})(?:\/([a-z0-9]{1,20}))?(?:\?offset=(\d{1,15}))?$/;

/** Creates an id that cannot be guessed: a URI with it is proof that its holder was given it. */
export function createResultId(): string {
  return randomBytes(16).toString("base64url");
}

/** Returns the URI of a kept result, of a part of it, or of the part from a character on. */
export function toResultUri(id: string, part?: string, offset = 0): string {
  return `${PREFIX}${id}${part === undefined ? "" : `/${part}`}${offset > 0 ? `?offset=${offset}` : ""}`;
}

/** Whether a URI has the form of a kept result, valid or not. */
export function isResultUri(uri: string): boolean {
  return uri.startsWith(PREFIX);
}

/** Parses the URI of a kept result; undefined if it is not a valid one. */
export function parseResultUri(uri: string): ResultUri | undefined {
  const [, id, part, offset = "0"] = PATTERN.exec(isResultUri(uri) ? uri.slice(PREFIX.length) : "") ?? [];
  return id === undefined ? undefined : { id, part, offset: Number(offset) };
}

/** Creates the line that names the parts that are not shown, and how to read them. */
export function createNote(omitted: readonly OmittedPart[]): ContentBlock {
  const kept = omitted.flatMap(({ uri, description }) =>
    uri === undefined ? [] : [`${JSON.stringify({ uri })} ${description}`],
  );
  const lost = omitted.flatMap(({ uri, description }) => (uri === undefined ? [description] : []));
  const lines = [
    ...(kept.length > 0 ? [`Not all of it is shown. Read on with ${HINT}:`, ...kept] : []),
    ...(lost.length > 0
      ? ["Not all of it is shown. Left out, because it is too large to be kept:", ...lost]
      : []),
  ];
  return { type: "text", text: `[${lines.join("\n")}]` };
}

/** Creates the link to a part, for clients that can read resources. */
export function createLink({ uri, description }: OmittedPart, mimeType: string): ContentBlock | undefined {
  return uri === undefined
    ? undefined
    : { type: "resource_link", uri, name: "rest of the result", description, mimeType };
}

/** Describes a call that is still running. */
export function describeRunning({ name, startedAt, progress }: RunningCall, uri: string): string {
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const last = progress();
  const how = last ? ` Its last progress was ${describeProgress(last)}.` : " It has reported no progress.";
  return `${name} is still running, after ${seconds} s.${how} Read its result later with ${HINT}: ${JSON.stringify({ uri })}`;
}

/** Creates the answer to a client whose call is still running. */
export function toRunningResult(running: RunningCall, uri: string): ToolResult {
  const link = { uri, name: "result", description: `The result of ${running.name}, once it is there.` };
  return {
    content: [
      { type: "text", text: describeRunning(running, uri) },
      { type: "resource_link", ...link },
    ],
  };
}

function describeProgress({ progress, total, message }: Progress): string {
  const share = total === undefined ? String(progress) : `${progress} of ${total}`;
  return message === undefined ? share : `${share} (${message.slice(0, 200)})`;
}
