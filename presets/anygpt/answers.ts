import * as v from "valibot";
import {
  argumentLimits,
  type Call,
  type Catalog,
  checkJson,
  definePlugin,
  type Gateway,
  isJsonObject,
  type JsonObject,
} from "../../core/mod.ts";
import { parseJsonObject } from "../../plugins/lib/json.ts";
import { option, wholeNumber } from "../../plugins/lib/options.ts";

const tokens = wholeNumber(50);
const options = v.strictObject({
  details: option(
    v.picklist(["parameters", "signature", "schema"]),
    "How `get_tool_details` describes parameters: one by one, as one line of TypeScript, or as JSON Schema.",
    "parameters",
  ),
  detailTokens: option(tokens, "Tokens of tool details above which descriptions are shortened.", 100),
  searchTokens: option(tokens, "Maximal tokens of a search result where the search has no limit.", 200),
  listTokens: option(
    tokens,
    "Tokens of a list of servers or tools above which descriptions are shortened.",
    2000,
  ),
  waitMs: option(
    v.pipe(v.number(), v.minValue(0, "a number of milliseconds, 0 or more")),
    "Milliseconds that a search waits for servers that are asked for their tools for the first time, and a list of tools for a server whose cached listing is too old.",
    3000,
  ),
  pinned: option(
    v.array(v.pipe(v.string(), v.includes(":", "the id of a tool, as server:tool"))),
    "Tools, as `server:tool`, that are listed beside the five meta-tools.",
    [],
  ),
  envelope: option(
    v.boolean(),
    "Whether `execute_tool` wraps what a tool returns: `{ success, result }`, or `{ success: false, error }`. Images and other content stay beside it.",
    false,
  ),
  structured: option(
    v.boolean(),
    "Whether answers are also structured content, with an output schema. Many hosts show a model both.",
    false,
  ),
});

/** Options of {@link answers}. */
export type AnswersOptions = v.InferInput<typeof options>;
type Settings = v.InferOutput<typeof options>;

/** Form in which `get_tool_details` describes parameters. */
export type DetailsStyle = Settings["details"];

/** Options of a gateway without the plugin `answers`. */
export const defaultAnswers: Settings = v.parse(options, {});

/** By catalog: each plugin sees the gateway through an object of its own. */
const settingsByCatalog = new WeakMap<Catalog, Settings>();
const parsedCalls = new WeakSet<Call>();

/** Returns the options of the five tools of a gateway. */
export function getAnswersSettings({ catalog }: Pick<Gateway, "catalog">): Settings {
  return settingsByCatalog.get(catalog) ?? defaultAnswers;
}

/** Whether the arguments in a call of `execute_tool` were sent as a JSON string. */
export function hasStringArguments(call: Call): boolean {
  return parsedCalls.has(call);
}

/** Configures the five tools. Listed before the plugin that checks arguments, since it parses what was sent as a string. */
export const answers = definePlugin({
  name: "answers",
  uses: [],
  options,
  setup(gateway, settings) {
    settingsByCatalog.set(gateway.catalog, settings);
    return {
      // Before a confirmation is asked for: it is of the arguments that are sent.
      policy(call) {
        const { tool, args } = call;
        if (tool && !tool.builtin) call.args = coerceArguments(args, tool.inputSchema);
      },
      validate(call) {
        const { tool, args } = call;
        const { arguments: given } = args;
        if (!tool?.builtin || tool.name !== "execute_tool" || typeof given !== "string") return;
        const parsed = parseObject(given);
        if (!parsed) return;
        call.args = { ...args, arguments: parsed };
        parsedCalls.add(call);
      },
    };
  },
});

/** Parses arguments that a model wrote as JSON within JSON. Anything but an object is left to be refused. */
function parseObject(json: string): JsonObject | undefined {
  const parsed = parseJsonObject(json);
  if (parsed) checkJson(parsed, argumentLimits);
  return parsed;
}

/** Numbers that a model wrote as a string; others would lose digits or are not meant as one. */
const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?$/;

/**
 * Turns arguments that a model wrote as strings into what the schema asks for: numbers, objects and lists. Only where a
 * string would be refused; anything else is left to be checked as it is.
 */
function coerceArguments(args: JsonObject, { properties }: JsonObject): JsonObject {
  if (!isJsonObject(properties)) return args;
  let coerced: JsonObject | undefined;
  for (const [name, given] of Object.entries(args)) {
    if (typeof given !== "string" || !Object.hasOwn(properties, name)) continue;
    const { [name]: schema } = properties;
    const value = isJsonObject(schema) ? coerce(given, schema["type"]) : given;
    if (value !== given) coerced = { ...(coerced ?? args), [name]: value };
  }
  return coerced ?? args;
}

function coerce(text: string, type: unknown): unknown {
  if (type === "number" || (type === "integer" && !text.includes("."))) {
    return NUMBER.test(text) ? Number(text) : text;
  }
  if (type !== "object" && type !== "array") return text;
  const value = parse(text);
  const fits = type === "array" ? Array.isArray(value) : isJsonObject(value);
  if (!fits) return text;
  checkJson(value, argumentLimits);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
