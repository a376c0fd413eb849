import type { JsonObject } from "../../core/mod.ts";
import type { Client } from "./client.ts";

/** A client, with what only serving needs to know of it. */
export interface ServedClient extends Client {
  /** How many questions it has not answered yet. */
  readonly unanswered: number;
  /** When it last answered one, as `performance.now()` has it; 0 where it never did. */
  readonly answeredAt: number;
  ask(method: string, params: Readonly<JsonObject>, options?: AskOptions): Promise<JsonObject>;
}

/** What ends a question. */
export interface AskOptions {
  readonly signal?: AbortSignal;
  /** The signal of the call that it is asked for. */
  readonly callSignal?: AbortSignal;
}

/** Bounds of what clients are asked. */
export interface AskLimits {
  /** How long a client may take to answer. */
  readonly answerMs: number;
  /** How many calls may wait for clients of the newer era to come back. */
  readonly suspended: number;
  /** How many questions one request may have open at once. */
  readonly questions: number;
}

/** The limits where none are given. */
export const askLimits: AskLimits = { answerMs: 600_000, suspended: 1_000, questions: 100 };
