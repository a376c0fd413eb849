import type { ToolNameStyle } from "./options.ts";

const OWN = /\bgateway[._-](intent|execute|adapters|tools|reference)\b/g;
const separators: Readonly<Record<ToolNameStyle, string>> = { dot: ".", hyphen: "-", underscore: "_" };

/** A text in which the five tools are called as the clients of this gateway know them. */
export function spelled(text: string, style: ToolNameStyle): string {
  return style === "dot" ? text : text.replace(OWN, `gateway${separators[style]}$1`);
}
