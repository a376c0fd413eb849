import {
  argumentLimits,
  type Call,
  checkJson,
  definePlugin,
  isJsonObject,
  type JsonObject,
  type PluginFactory,
  type Tool,
} from "../../core/mod.ts";
import { describeTools, instructions } from "./describe.ts";
import { type AnswersOptions, answersOptions } from "./options.ts";

/** What an edge needs to know to show the five tools to an agent. */
export interface Answers {
  readonly options: Required<AnswersOptions>;
  /** The tools to list, with what is known of the catalog now. */
  tools(): readonly Tool[];
  /** What a server says of itself when a client connects. */
  instructions(): string;
  /** Whether the arguments in a call of `execute_tool` came as a text. */
  cameAsText(call: Call): boolean;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `answers` of the preset `anygpt`. */
    answers?: Answers;
  }
}

/** Says how the five tools answer. It stands before the plugin that checks arguments, which it mends where it can. */
export const answers: PluginFactory<"answers", AnswersOptions, Required<AnswersOptions>> = definePlugin({
  name: "answers",
  options: answersOptions,
  setup(gateway, options) {
    const mended = new WeakSet<Call>();
    gateway.services.answers = {
      options,
      tools: () => describeTools(gateway),
      instructions: () => instructions(gateway),
      cameAsText: (call) => mended.has(call),
    };
    return {
      validate(call) {
        const { tool, args } = call;
        const { arguments: text } = args;
        if (!tool?.builtin || tool.name !== "execute_tool" || typeof text !== "string") return;
        const parsed = parsedObject(text);
        if (!parsed) return;
        call.args = { ...args, arguments: parsed };
        mended.add(call);
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
