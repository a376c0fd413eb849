import type { JsonObject } from "../../core/mod.ts";

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

/** How serious something is, as MCP has it from syslog. */
export type LogLevel = (typeof levels)[number];

/** The notice that carries what a server has to say. */
export const MESSAGE = "notifications/message";

/** A level, where a client named one. */
export function levelOf(value: unknown): LogLevel | undefined {
  return levels.find((level) => level === value);
}

/** Whether a notice is one that a client wants: a message below its level is not, and one without a level never. */
export function isWanted(method: string, params: Readonly<JsonObject>, least: LogLevel | undefined): boolean {
  if (method !== MESSAGE) return true;
  const level = levelOf(params["level"]);
  return level !== undefined && least !== undefined && levels.indexOf(level) >= levels.indexOf(least);
}
