import {
  definePreset,
  GatewayError,
  type JsonObject,
  localTools,
  type Plugin,
  type Preset,
  textResult,
} from "../../core/mod.ts";
import type { Client } from "../../core/services/clients.ts";

/** The schema of a form. */
export const form: JsonObject = {
  message: "What is your name?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};

/** A tool that asks its client, and what came of it. */
export interface Asker {
  readonly plugin: Plugin;
  readonly preset: Preset;
  /** The answers, and the errors of questions without one. */
  readonly heard: (JsonObject | GatewayError)[];
  /** The client of the latest call. */
  client(): Client | undefined;
}

/** Asks the client; by default for a name. */
export type Script = (client: Client, args: JsonObject) => Promise<unknown>;

const askName: Script = (client) => client.ask("elicitation/create", form);

/** Makes a tool that asks its caller. */
export function asker(script: Script = askName, readOnlyHint = true): Asker {
  const heard: (JsonObject | GatewayError)[] = [];
  let client: Client | undefined;
  const plugin = localTools("asker", { id: "asker" }, [
    {
      name: "greet",
      inputSchema: { type: "object" },
      annotations: { readOnlyHint },
      async run(args, { gateway, call }) {
        client = gateway.services.clients?.get(call);
        if (!client) return textResult("no client");
        try {
          const answer = await script(client, args);
          heard.push(answer as JsonObject);
          return textResult(JSON.stringify(answer));
        } catch (thrown) {
          heard.push(thrown as GatewayError);
          throw thrown;
        }
      },
    },
  ]);
  return {
    plugin,
    preset: definePreset({ name: "asking", plugins: [plugin] }),
    heard,
    client: () => client,
  };
}

/** The codes of the errors that were heard. */
export function listCodes({ heard }: Asker): unknown[] {
  return heard.map((one) => (GatewayError.is(one) ? one.code : "answered"));
}
