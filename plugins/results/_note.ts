import type { ContentBlock } from "../../core/mod.ts";

/** Something that is not shown. */
export interface LeftOut {
  /** Where it can be read; nowhere if it is too large to be kept. */
  readonly uri: string | undefined;
  readonly what: string;
}

/** The server and the tool by which an agent reads on. */
export const reader = { server: "toolpipe", tool: "read_result" } as const;

/**
 * How an agent reads on. Most agents can call tools and cannot read resources, so that it is told of a tool: one that
 * it finds in no list, because a list is paid for by every agent, and this only by those that need it.
 */
export const howToRead: string = `the tool "${reader.tool}" of the server "${reader.server}"`;

/** The line that says what is not shown, and how to get it. */
export function noteOf(leftOut: readonly LeftOut[]): ContentBlock {
  const kept = leftOut.flatMap(({ uri, what }) =>
    uri === undefined ? [] : [`${argumentsFor(uri)} ${what}`],
  );
  const lost = leftOut.flatMap(({ uri, what }) => (uri === undefined ? [what] : []));
  const lines = [
    ...(kept.length > 0 ? [`Not all of it is shown. Read on with ${howToRead}:`, ...kept] : []),
    ...(lost.length > 0
      ? ["Not all of it is shown. Left out, because it is too large to be kept:", ...lost]
      : []),
  ];
  return { type: "text", text: `[${lines.join("\n")}]` };
}

/** What the tool is called with to read on. */
export function argumentsFor(uri: string): string {
  return JSON.stringify({ uri });
}

/** The same as a link, for clients that can read resources. */
export function linkOf({ uri, what }: LeftOut, mimeType: string): ContentBlock | undefined {
  return uri === undefined
    ? undefined
    : { type: "resource_link", uri, name: "rest of the result", description: what, mimeType };
}
