import type { ServerResponse } from "node:http";

/** Has clients give up their connections, each with the next answer that it gets. */
export interface Farewell {
  /** A request has come that this will answer. */
  meet(response: ServerResponse): void;
  /** From now on every answer says that its connection ends with it. */
  begin(): void;
}

/**
 * A connection that is closed while nothing happens on it may be closed just when its client sends something, and
 * then nobody can say what became of that. One that ends with an answer is used no more.
 */
export function createFarewell(): Farewell {
  const open = new Set<ServerResponse>();
  let hasBegun = false;

  return {
    meet(response) {
      if (hasBegun) return part(response);
      open.add(response);
      response.once("close", () => open.delete(response));
    },
    begin() {
      hasBegun = true;
      for (const response of open) part(response);
      open.clear();
    },
  };

  function part(response: ServerResponse): void {
    if (!response.headersSent) response.setHeader("connection", "close");
  }
}
