import { isJsonObject, type JsonObject, type Tool } from "../../core/mod.ts";
import { createExample } from "../../plugins/lib/schema/example.ts";
import { signature } from "../../plugins/lib/schema/signature.ts";
import { toOneLine } from "../../plugins/lib/text/shorten.ts";
import { estimateTokens } from "../../plugins/lib/tokens.ts";
import { renderParameterType } from "../shared/argument-error.ts";
import { listToolParameters } from "../shared/meta-tools.ts";
import type { DetailsStyle } from "./answers.ts";
import { fillSlots } from "./pack.ts";

/** A parameter, in the form of the specification. */
export interface ToolParameter {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  readonly required: boolean;
}

/** Example arguments of a tool, in the form of the specification. */
export interface ToolExample {
  readonly description: string;
  readonly parameters: JsonObject;
}

/** Characters of the description of a tool, of a required and of an optional parameter, and of a type. */
const DESCRIPTION = [75, 120, 180, 280, 400];
const REQUIRED = [32, 60, 90, 140, 240];
const OPTIONAL = [1, 45, 80, 140, 240];
const TYPES = [160, 90, 60];
const SHORTEST_TYPE = 60;
const WHOLE_TYPE = 4_000;
/** Error of the estimate: an example that was not asked for must not cost more than the details may. */
const SPARE_TOKENS = 8;
/** Room for descriptions, as a share of names and types, where these alone exceed the limit. */
const DESCRIPTION_SHARE = 0.4;

/** Describes the parameters of a tool; types are cut to a number of characters. */
export function describeParameters({ inputSchema }: Tool, typeLength = WHOLE_TYPE): ToolParameter[] {
  return listToolParameters(inputSchema).map(({ schema, name, description, required }) => ({
    name,
    type: renderParameterType(schema, inputSchema, typeLength),
    description,
    required,
  }));
}

/** Creates an example of arguments. The list is empty where no valid example was found. */
export async function createExamples({ inputSchema }: Tool): Promise<ToolExample[]> {
  const parameters = await createExample(inputSchema);
  return isJsonObject(parameters) ? [{ description: "Arguments that its schema accepts", parameters }] : [];
}

/** Whether details with examples stay within a number of tokens; undefined is no limit. */
export function fitsExamples(
  details: JsonObject,
  examples: readonly ToolExample[],
  tokens: number | undefined,
): boolean {
  return (
    tokens === undefined || estimateTokens(JSON.stringify({ ...details, examples })) <= tokens - SPARE_TOKENS
  );
}

/** Describes a tool, shortened to about a number of tokens unless that is undefined. */
export function toToolDetails(tool: Tool, style: DetailsStyle, tokens: number | undefined): JsonObject {
  const { server, name, description = "", inputSchema } = tool;
  const head = { server, tool: name, description };
  if (style === "schema") return { ...fitDescription(head, {}, tokens), inputSchema };
  if (style === "signature") {
    const maxLength = tokens === undefined ? WHOLE_TYPE : tokens * 4;
    return fitDescription(head, { signature: signature(tool, { maxLength }) }, tokens);
  }
  if (tokens === undefined) return { ...head, parameters: describeParameters(tool) };
  return fitParameters(head, tool, tokens);
}

function fitDescription(head: JsonObject, rest: JsonObject, tokens: number | undefined): JsonObject {
  if (tokens === undefined) return { ...head, ...rest };
  const slot = { text: toOneLine(String(head["description"])), lengths: DESCRIPTION };
  const room = tokens - estimateTokens(JSON.stringify({ ...head, description: "", ...rest }));
  return { ...head, description: fillSlots([slot], room)[0], ...rest };
}

function fitParameters(head: JsonObject, tool: Tool, tokens: number): JsonObject {
  let parameters: ToolParameter[] = [];
  let room = 0;
  for (const length of TYPES) {
    parameters = describeParameters(tool, length);
    const bare = parameters.map((parameter) => ({ ...parameter, description: "" }));
    const spent = estimateTokens(JSON.stringify({ ...head, description: "", parameters: bare }));
    // Where names and types alone take more, cutting descriptions would only cost a second question.
    room = spent > tokens ? spent * DESCRIPTION_SHARE : tokens - spent;
    if (spent <= tokens / 2 || parameters.every(({ type }) => type.length <= SHORTEST_TYPE)) break;
  }
  const [description = "", ...descriptions] = fillSlots(
    [
      { text: toOneLine(String(head["description"])), lengths: DESCRIPTION },
      ...parameters.map(({ description: text, required }) => ({
        text: toOneLine(text),
        lengths: required ? REQUIRED : OPTIONAL,
      })),
    ],
    room,
  );
  return {
    ...head,
    description,
    parameters: parameters.map((parameter, index) => ({
      ...parameter,
      description: descriptions[index] ?? "",
    })),
  };
}
