import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { CLIENT_CANNOT, type ClientCapability } from "./client.ts";

/** What a client must have said it can do to be asked this; nothing where no client can be asked such a thing. */
export function requiredFor(method: string, params: Readonly<JsonObject>): JsonObject | undefined {
  if (method === "elicitation/create") {
    return { elicitation: params["mode"] === "url" ? { url: {} } : { form: {} } };
  }
  if (method === "sampling/createMessage") {
    const withTools = params["tools"] !== undefined || params["toolChoice"] !== undefined;
    return { sampling: withTools ? { tools: {} } : {} };
  }
  return method === "roots/list" ? { roots: {} } : undefined;
}

/** What of it a client never said. */
export function missingOf(
  required: Readonly<JsonObject>,
  declared: Readonly<JsonObject>,
): JsonObject | undefined {
  const missing: JsonObject = {};
  for (const [name, parts] of Object.entries(required)) {
    const has = Object.hasOwn(declared, name) ? declared[name] : undefined;
    const lacks = Object.keys(parts as object).filter((part) => !hasPart(name, part, has));
    if (!isJsonObject(has) || lacks.length > 0) missing[name] = parts;
  }
  return Object.keys(missing).length > 0 ? missing : undefined;
}

/** Whether a client said that it can be asked for something, in its simplest form. */
export function canBeAsked(capability: ClientCapability, declared: Readonly<JsonObject>): boolean {
  const required = capability === "elicitation" ? { elicitation: { form: {} } } : { [capability]: {} };
  return missingOf(required, declared) === undefined;
}

/** Throws where a client never said that it can be asked this. */
export function checkAskable(
  method: string,
  params: Readonly<JsonObject>,
  declared: Readonly<JsonObject>,
): void {
  const required = requiredFor(method, params);
  const missing = required ? missingOf(required, declared) : {};
  if (missing) throw cannot(method, missing);
}

/** The error of a client that cannot be asked something. */
export function cannot(method: string, requiredCapabilities: JsonObject): GatewayError {
  const named = method.slice(0, 80);
  const what = Object.keys(requiredCapabilities)[0];
  const why = what
    ? `it has not declared the capability "${what}"${what === "elicitation" ? " in the form this takes" : ""}`
    : "no client can be asked for that";
  return new GatewayError(CLIENT_CANNOT, `The client cannot be asked for "${named}": ${why}.`, {
    data: { method: named, requiredCapabilities },
  });
}

function hasPart(name: string, part: string, has: unknown): boolean {
  if (!isJsonObject(has)) return false;
  // Before there were two kinds of it, whoever could do it could do this one.
  const isBare = name === "elicitation" && has["form"] === undefined && has["url"] === undefined;
  return has[part] !== undefined || (isBare && part === "form");
}
