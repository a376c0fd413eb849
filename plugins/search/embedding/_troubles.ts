import { GatewayError } from "../../../core/mod.ts";
import { EMBEDDER_UNAVAILABLE, type Embedder, unavailable } from "./embedder.ts";

/** Whether an embedder works. */
export interface Troubles {
  /** Whether it is left alone for now. */
  readonly pausing: boolean;
  /** It has failed. */
  tell(thrown: unknown): void;
  /** It has worked. */
  over(): void;
}

/** What did not work is left alone for so long, and so are those who would have to wait for it. */
const PAUSE_MS = 30_000;

/** Tells of each kind of failure once. */
export function troubles(
  { name, prompt }: Embedder,
  onTrouble: ((error: GatewayError) => void) | undefined,
): Troubles {
  const told = new Set<string>();
  let until = 0;
  return {
    get pausing() {
      return Date.now() < until;
    },
    tell(thrown) {
      // What needs nothing but its own files does not mend itself.
      until = prompt ? Number.POSITIVE_INFINITY : Date.now() + PAUSE_MS;
      const why = (thrown as Error | undefined)?.name === "TimeoutError" ? "it took too long" : "it failed";
      const error =
        GatewayError.is(thrown) && thrown.code === EMBEDDER_UNAVAILABLE.code
          ? thrown
          : unavailable(name, GatewayError.is(thrown) ? sentence(thrown.message) : why, thrown);
      if (told.has(error.message)) return;
      told.add(error.message);
      onTrouble?.(error);
    },
    over() {
      until = 0;
    },
  };
}

/** A message of ours as the reason in another one. */
function sentence(message: string): string {
  return message.replace(/\.$/, "").replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
}
