import {
  argumentLimits,
  type Call,
  type Catalog,
  checkJson,
  definePlugin,
  type Gateway,
  isJsonObject,
  type JsonObject,
  type PluginFactory,
} from "../../core/mod.ts";
import { type AnswersOptions, answersOptions, defaultAnswers } from "./options.ts";

/** How the five tools of a gateway answer. */
export interface Answers {
  readonly options: Required<AnswersOptions>;
  /** Whether the arguments in a call of `execute_tool` came as a text. */
  cameAsText(call: Call): boolean;
}

/** By the catalog of a gateway: each plugin sees the gateway through an object of its own. */
const byCatalog = new WeakMap<Catalog, Answers>();

/** How the five tools of a gateway answer; by default where the plugin `answers` is missing. */
export function answersOf({ catalog }: Pick<Gateway, "catalog">): Answers {
  return byCatalog.get(catalog) ?? { options: defaultAnswers, cameAsText: () => false };
}

/** Says how the five tools answer. It stands before the plugin that checks arguments, which it mends where it can. */
export const answers: PluginFactory<"answers", AnswersOptions, Required<AnswersOptions>> = definePlugin({
  name: "answers",
  uses: [],
  options: answersOptions,
  setup(gateway, options) {
    const parsed = new WeakSet<Call>();
    byCatalog.set(gateway.catalog, { options, cameAsText: (call) => parsed.has(call) });
    return {
      validate(call) {
        const { tool, args } = call;
        const { arguments: text } = args;
        if (!tool?.builtin || tool.name !== "execute_tool" || typeof text !== "string") return;
        const own = parsedObject(text);
        if (!own) return;
        call.args = { ...args, arguments: own };
        parsed.add(call);
      },
    };
  },
});

/** Some models write the arguments as JSON within JSON. Once is understood; anything else is left to be refused. */
function parsedObject(text: string): JsonObject | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return;
  }
  if (!isJsonObject(parsed)) return;
  checkJson(parsed, argumentLimits);
  return parsed;
}
