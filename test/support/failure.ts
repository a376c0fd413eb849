import { expect } from "vitest";
import { GatewayError, type SettledCall } from "../../core/mod.ts";

/** The error that a promise is rejected with, which must be a `GatewayError`. */
export async function catchFailure(promise: Promise<unknown>): Promise<GatewayError> {
  const thrown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!GatewayError.is(thrown)) throw new Error("A GatewayError was expected.", { cause: thrown });
  return thrown;
}

/** The text of a call that went well. */
export function readText(call: SettledCall): string {
  if (!call.ok) throw call.error;
  expect(call.result.content).toHaveLength(1);
  return String(call.result.content[0]?.["text"]);
}

/** The JSON that a meta-tool answered with. */
export function parseJson(call: SettledCall): unknown {
  return JSON.parse(readText(call));
}

/** The error of a call that failed. */
export function getError(call: SettledCall): GatewayError {
  if (call.ok) throw new Error("The call was expected to fail.");
  return call.error;
}

/** Everything that an error says, to anyone and to the log. */
export function splitWords(error: unknown): string {
  const words: string[] = [];
  let next = error;
  while (next instanceof Error) {
    words.push(next.message, JSON.stringify(next), String(next.stack));
    next = next.cause;
  }
  return words.join("\n");
}
