import type { Call, JsonObject } from "../../core/mod.ts";

/** What a person said to a question, as MCP has it. */
export interface ElicitAnswer {
  readonly action: "accept" | "decline" | "cancel";
  /** What was filled in, if they accepted. */
  readonly content?: Readonly<JsonObject> | undefined;
}

/** Asks the person behind a call, by way of the client that it came from. */
export interface Elicit {
  /** Whether the client of a call, or of the call that it is made for, can ask its person. */
  can(call: Call): boolean;
  /** Asks, and waits for the answer. The schema is what MCP allows of one: a flat object. */
  ask(question: string, schema: JsonObject, call: Call): Promise<ElicitAnswer>;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by whoever serves clients that can ask a person. */
    elicit?: Elicit;
  }
}
