import { GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { CLIENT_CANNOT, type ClientCapability } from "../../../core/services/clients.ts";

/** The capability that a client must have declared to be asked this; undefined if no client can be asked such a thing. */
export function getRequired(method: string, params: Readonly<JsonObject>): JsonObject | undefined {
  if (method === "elicitation/create") {
    return { elicitation: params["mode"] === "url" ? { url: {} } : { form: {} } };
  }
  if (method === "sampling/createMessage") {
    const withTools = params["tools"] !== undefined || params["toolChoice"] !== undefined;
    return { sampling: withTools ? { tools: {} } : {} };
  }
  return method === "roots/list" ? { roots: {} } : undefined;
}

/** The part of the required capabilities that a client has not declared. */
export function findMissing(
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

/** Whether a client declared a capability, in its simplest form. */
export function canBeAsked(capability: ClientCapability, declared: Readonly<JsonObject>): boolean {
  const required = capability === "elicitation" ? { elicitation: { form: {} } } : { [capability]: {} };
  return findMissing(required, declared) === undefined;
}

/** Throws if a client has not declared the capability to be asked this. */
export function checkAskable(
  method: string,
  params: Readonly<JsonObject>,
  declared: Readonly<JsonObject>,
): void {
  const required = getRequired(method, params);
  const missing = required ? findMissing(required, declared) : {};
  if (missing) throw clientCannot(method, missing);
}

/** The error of a client that lacks a capability. */
export function clientCannot(method: string, requiredCapabilities: JsonObject): GatewayError {
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
  // Older protocol versions know only forms, and declare them without a name.
  const isBare = name === "elicitation" && has["form"] === undefined && has["url"] === undefined;
  return has[part] !== undefined || (isBare && part === "form");
}
