import { type Asking, createAsking } from "./_asking.ts";
import { type AskLimits, askLimits } from "./_served-client.ts";
import { createSuspended, type Suspended } from "./_suspended.ts";

/** What the clients of one address are asked, and what waits for them. */
export interface Talk {
  readonly limits: AskLimits;
  readonly asking: Asking;
  readonly suspended: Suspended;
  /** Is told under which state a call waits, before its client is. */
  readonly onSuspended?: ((state: string) => Promise<void>) | undefined;
}

/** Makes a talk with clients of both eras. */
export function createTalk(given: Partial<AskLimits> = {}, onSuspended?: Talk["onSuspended"]): Talk {
  const limits = { ...askLimits, ...given };
  return { limits, asking: createAsking(limits), suspended: createSuspended(limits), onSuspended };
}
