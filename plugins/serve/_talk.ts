import { type Asking, createAsking } from "./_asking.ts";
import { type AskLimits, askLimits } from "./_served-client.ts";
import { createSuspended, type Suspended } from "./_suspended.ts";

/** What the clients of one address are asked, and what waits for them. */
export interface Talk {
  readonly limits: AskLimits;
  readonly asking: Asking;
  readonly suspended: Suspended;
}

/** Makes a talk with clients of both eras. */
export function createTalk(given: Partial<AskLimits> = {}): Talk {
  const limits = { ...askLimits, ...given };
  return { limits, asking: createAsking(limits), suspended: createSuspended(limits) };
}
