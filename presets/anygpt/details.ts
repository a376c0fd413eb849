import { isJsonObject, type JsonObject, type Tool } from "../../core/mod.ts";
import { exampleOf } from "../../plugins/lib/schema/example.ts";
import { signature } from "../../plugins/lib/schema/signature.ts";
import { oneLine } from "../../plugins/lib/text/shorten.ts";
import { estimateTokens } from "../../plugins/lib/tokens.ts";
import { type Parameter, parametersOf } from "../_answers.ts";
import { filled } from "./fill.ts";
import type { DetailsStyle } from "./options.ts";
import { parameterType } from "./parameter-type.ts";

/** A parameter, as the specification shows it. */
export interface ToolParameter {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  readonly required: boolean;
}

/** An example of a tool's arguments, as the specification shows it. */
export interface ToolExample {
  readonly description: string;
  readonly parameters: JsonObject;
}

/** Characters of what a tool does, of what a call needs, and of what can be left out of it, which comes last. */
const DESCRIPTION = [75, 120, 180, 280, 400];
const REQUIRED = [32, 60, 90, 140, 240];
const OPTIONAL = [1, 45, 80, 140, 240];
const TYPES = [160, 90, 60];
const WHOLE_TYPE = 4_000;
const MEANING = 0.4;

/** The parameters of a tool, whole. */
export function toolParameters({ inputSchema }: Tool): ToolParameter[] {
  return parametersOf(inputSchema).map(({ schema, name, description, required }) => ({
    name,
    type: parameterType(schema, inputSchema, WHOLE_TYPE),
    description,
    required,
  }));
}

/** An example of what a tool can be called with, if one was found. */
export async function toolExamples({ inputSchema }: Tool): Promise<ToolExample[]> {
  const parameters = await exampleOf(inputSchema);
  return isJsonObject(parameters) ? [{ description: "Arguments that its schema accepts", parameters }] : [];
}

/** The details of a tool in the style that was chosen; shortened to about so many tokens unless all of it is asked for. */
export function detailsOf(tool: Tool, style: DetailsStyle, tokens: number | undefined): JsonObject {
  const { server, name, description = "", inputSchema } = tool;
  const head = { server, tool: name, description };
  if (style === "schema") return { ...withDescription(head, {}, tokens), inputSchema };
  if (style === "signature") {
    const maxLength = tokens === undefined ? WHOLE_TYPE : tokens * 4;
    return withDescription(head, { signature: signature(tool, { maxLength }) }, tokens);
  }
  if (tokens === undefined) return { ...head, parameters: toolParameters(tool) };
  return withParameters(head, tool, tokens);
}

function withDescription(head: JsonObject, rest: JsonObject, tokens: number | undefined): JsonObject {
  if (tokens === undefined) return { ...head, ...rest };
  const slot = { text: oneLine(String(head["description"])), lengths: DESCRIPTION };
  const room = tokens - estimateTokens(JSON.stringify({ ...head, description: "", ...rest }));
  return { ...head, description: filled([slot], room)[0], ...rest };
}

function withParameters(head: JsonObject, { inputSchema }: Tool, tokens: number): JsonObject {
  const all = parametersOf(inputSchema);
  let frame: JsonObject = {};
  let room = 0;
  let types: string[] = [];
  for (const length of TYPES) {
    types = all.map(({ schema }) => parameterType(schema, inputSchema, length));
    frame = written(head, all, types, []);
    const spent = estimateTokens(JSON.stringify(frame));
    // Where names and types alone take more, saving on what they mean would only cost a second question.
    room = spent > tokens ? spent * MEANING : tokens - spent;
    if (spent <= tokens / 2 || types.every((type) => type.length <= (TYPES.at(-1) ?? 0))) break;
  }
  const [description = "", ...texts] = filled(
    [
      { text: oneLine(String(head["description"])), lengths: DESCRIPTION },
      ...all.map(({ description: text, required }) => ({
        text: oneLine(text),
        lengths: required ? REQUIRED : OPTIONAL,
      })),
    ],
    room,
  );
  return written({ ...head, description }, all, types, texts);
}

function written(
  head: JsonObject,
  all: readonly Parameter[],
  types: readonly string[],
  texts: readonly string[],
): JsonObject {
  const parameters = all.map(({ name, required }, index) => ({
    name,
    type: types[index] ?? "",
    description: texts[index] ?? "",
    required,
  }));
  return { ...head, ...(texts.length === 0 && { description: "" }), parameters };
}
