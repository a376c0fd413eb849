import type { JsonObject } from "../../../core/mod.ts";

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

/** Severity of a message, as MCP takes it from syslog. */
export type MessageLevel = (typeof levels)[number];

/** The level that a client named, if it is one. */
export function parseLevel(value: unknown): MessageLevel | undefined {
  return levels.find((level) => level === value);
}

/**
 * Whether a client wants a notification: a log message below its level it does not, nor one without a level. Any other
 * notification it does.
 */
export function isWanted(
  method: string,
  params: Readonly<JsonObject>,
  least: MessageLevel | undefined,
): boolean {
  if (method !== "notifications/message") return true;
  const level = parseLevel(params["level"]);
  return level !== undefined && least !== undefined && levels.indexOf(level) >= levels.indexOf(least);
}
