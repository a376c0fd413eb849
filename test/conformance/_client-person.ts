import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Client } from "../../core/services/clients.ts";

/** A client whose person says yes to everything, and leaves every field of a form as it was filled in for them. */
export function obligingClient(): Client {
  return {
    protocol: "legacy",
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
    can: () => true,
    async ask(method, params) {
      if (method === "elicitation/create") return { action: "accept", content: fillForm(params) };
      if (method === "roots/list") return { roots: [] };
      return { role: "assistant", content: { type: "text", text: "Yes." }, model: "none" };
    },
    notify() {},
  };
}

function fillForm(params: Readonly<JsonObject>): JsonObject {
  const schema = isJsonObject(params["requestedSchema"]) ? params["requestedSchema"] : {};
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  return Object.fromEntries(
    Object.entries(properties).map(([key, field]) => [
      key,
      isJsonObject(field) ? (field["default"] ?? true) : true,
    ]),
  );
}
