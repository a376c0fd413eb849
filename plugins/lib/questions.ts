import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { QUESTION_REFUSED } from "../../core/services/servers.ts";
import { toTerminalLine, toTerminalLines } from "./terminal/output.ts";

const LONGEST_NAME = 80;
/** Fields of a schema that a client shows. */
const SHOWN = new Set(["title", "description", "enumNames"]);
const MAX_DEPTH = 32;

/**
 * Prepares the question of a server for a client. The user sees which server asks: its words could be those of the
 * gateway when that asks for a confirmation. Control characters and invisible ones are removed, a page has to be one of
 * the web, and sampling gets no context of the client, which holds what other servers have answered.
 */
export function prepareQuestion(server: string, method: string, params: JsonObject): JsonObject {
  if (method === "sampling/createMessage")
    return params["includeContext"] === undefined ? params : { ...params, includeContext: "none" };
  if (method !== "elicitation/create") return params;
  const { message, requestedSchema, url } = params;
  if (url !== undefined) checkUrl(server, url);
  const name = toTerminalLine(server).slice(0, LONGEST_NAME);
  return {
    ...params,
    message: `The server "${name}" asks: ${cleanText(message)}`,
    ...(requestedSchema !== undefined && { requestedSchema: cleanSchema(requestedSchema) }),
  };
}

/** Prepares the questions of a result that the client gets as it is. */
export function prepareQuestions<T>(server: string, result: T): T {
  const { inputRequests } = result as JsonObject;
  if (!isJsonObject(inputRequests)) return result;
  const prepared = Object.entries(inputRequests).map(([key, request]) => {
    if (!isJsonObject(request) || !isJsonObject(request["params"])) return [key, request];
    const params = prepareQuestion(server, String(request["method"]), request["params"]);
    return [key, { ...request, params }];
  });
  return { ...result, inputRequests: Object.fromEntries(prepared) };
}

function checkUrl(server: string, url: unknown): void {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  if (
    parsed &&
    /^https?:$/.test(parsed.protocol) &&
    parsed.username === "" &&
    !/[\s\p{C}]/u.test(String(url))
  )
    return;
  throw new GatewayError(
    QUESTION_REFUSED,
    `A question of the server "${server}" is not passed on: the page that it wants opened is not one of http or https.`,
    { data: { sent: false } },
  );
}

function cleanText(text: unknown): string {
  return typeof text === "string" ? toTerminalLines(text).replace(/[^\P{C}\n\t]/gu, "") : "";
}

function cleanSchema(value: unknown, isShown = false, depth = 0): unknown {
  if (typeof value === "string") return isShown ? cleanText(value) : value;
  if (depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((one) => cleanSchema(one, isShown, depth + 1));
  if (!isJsonObject(value)) return value;
  // The name of a property may be `title`, too: then its value is a schema.
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, cleanSchema(one, SHOWN.has(key), depth + 1)]),
  );
}
