import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Knows at which replica of a gateway a session is: one of a legacy client, or a call that waits for a modern client to
 * come back. Provided by the plugin `replicas`, if the state is shared between machines.
 */
export interface SessionHomes {
  /** Names this server among the replicas. The id stays the same across reloads. */
  announce(server: { readonly id: string; readonly url: string }): void;
  /** Notes that a session began here, for a week or for so many milliseconds. */
  begin(session: string, forMs?: number): Promise<void>;
  /**
   * Finds the replica of a session that is not known here, and forwards the request.
   *
   * - `here`: to be answered here, as well as it can be.
   * - `gone`: the session, or its replica, has ended; nothing was done.
   * - `lost`: the replica ended before it answered; the outcome is unknown.
   * - `answered`: by the replica of the session.
   */
  route(
    session: string,
    request: IncomingMessage,
    response: ServerResponse,
    body?: string,
  ): Promise<"here" | "gone" | "lost" | "answered">;
  /** Leaves the replicas: no session is forwarded to this server any more. */
  close(): void;
}
