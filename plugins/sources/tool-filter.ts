import type { JsonObject } from "../../core/mod.ts";
import { Refusal, texts } from "./_fields.ts";
import type { ServerConfig } from "./server-config.ts";

const includes = ["includeTools", "include_tools", "enabledTools", "enabled_tools", "available_tools"];
const excludes = ["excludeTools", "exclude_tools", "disabledTools", "disabled_tools"];

/**
 * Which tools an entry allows or forbids. What a client approves in advance (`autoApprove`, `alwaysAllow`,
 * `trust`) is not looked at: it was meant for that client's own prompts and is no approval of ours.
 */
export function toolFilter(fields: JsonObject): ServerConfig["tools"] {
  const { tools } = fields;
  const own =
    typeof tools === "object" && tools !== null && !Array.isArray(tools) ? (tools as JsonObject) : {};
  const include = namesUnder(fields, includes) ?? namesIn(own["include"]) ?? listed(tools);
  const exclude = namesUnder(fields, excludes) ?? namesIn(own["exclude"]);
  if (include === undefined && exclude === undefined) return undefined;
  return { ...(include && { include }), ...(exclude && { exclude }) };
}

/** A list of names allows them. A list of objects only describes tools, and `*` stands for all of them. */
function listed(tools: unknown): readonly string[] | undefined {
  if (!Array.isArray(tools) || tools.includes("*") || !tools.every((tool) => typeof tool === "string"))
    return undefined;
  return tools;
}

function namesUnder(fields: JsonObject, keys: readonly string[]): readonly string[] | undefined {
  const key = keys.find((candidate) => fields[candidate] !== undefined && fields[candidate] !== null);
  return key === undefined ? undefined : namesIn(fields[key]);
}

function namesIn(value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  // Passing over a list that cannot be read would allow what it forbids.
  if (!Array.isArray(value)) throw new Refusal("its list of tools is not a list");
  return texts(value, "its list of tools");
}
