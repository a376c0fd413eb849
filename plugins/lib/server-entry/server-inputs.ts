import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { objectAt } from "../../../core/services/sources.ts";
import { Refusal } from "./connection-of.ts";

/** What a server wants to know of whoever uses it. */
export interface ServerNeed {
  /** Where it goes. */
  readonly kind: NeedKind;
  /** What its publisher calls it. */
  readonly name: string;
  /** The variable of the environment that it is taken from if nobody gives it. */
  readonly variable: string;
  readonly description?: string | undefined;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly default?: string | undefined;
  readonly choices?: readonly string[] | undefined;
}

/** Where a value goes: into a variable, a header, an argument, or the URL. */
export type NeedKind = "env" | "header" | "argument" | "url";

/** Answers for what a server wants to know. */
export interface Answers {
  /** The variable that stands for a value which nobody gave. */
  variable(kind: NeedKind, name: string): string;
  /** A value that was given: as it is, or as a `${VARIABLE}`. */
  given(need: ServerNeed): string | undefined;
}

/** Nobody answers: what is needed is asked of the environment. */
export const noAnswers: Answers = {
  variable: (kind, name) => (kind === "env" ? name : variableOf(name)),
  given: () => undefined,
};

/** A field in the spelling of today or in that of files from before autumn 2025. */
export function field(object: JsonObject, name: string): unknown {
  return object[name] ?? object[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

/** The objects of a list; none where it is something else. */
export function objectsIn(object: JsonObject, name: string): readonly JsonObject[] {
  const value = field(object, name);
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** What an input says of its value: it is fixed, given, has a default, must be given, or may be left out. */
export function inputValue(
  input: JsonObject,
  kind: NeedKind,
  name: string,
  answers: Answers,
): string | undefined {
  const { value } = input;
  if (isThere(value)) return filled(String(value), input["variables"], kind, answers);
  const need = needOf(input, kind, name, answers);
  const given = answers.given(need);
  if (given !== undefined) return given;
  if (need.default !== undefined) return literal(need.default);
  return need.isRequired ? reference(need) : undefined;
}

/** What a person may give for an input. */
export function needOf(input: JsonObject, kind: NeedKind, name: string, answers: Answers): ServerNeed {
  const { description, default: otherwise, choices } = input;
  return {
    kind,
    name,
    variable: answers.variable(kind, name),
    description: typeof description === "string" ? description : undefined,
    isRequired: field(input, "isRequired") === true,
    isSecret: field(input, "isSecret") === true,
    default: isThere(otherwise) ? String(otherwise) : undefined,
    choices: Array.isArray(choices) ? choices.filter((choice) => typeof choice === "string") : undefined,
  };
}

/** Fills `{name}` from what is said of its variables. */
export function filled(template: string, variables: unknown, kind: NeedKind, answers: Answers): string {
  return literal(template).replace(/\{([\w-]+)\}/g, (whole, name: string) => {
    const known = objectAt(variables);
    if (!Object.hasOwn(known, name)) return whole;
    const input = objectAt(known, name);
    // A template has no place for what is left out.
    const inner = { ...input, isRequired: true, value: isThere(input["value"]) ? input["value"] : undefined };
    const value = isThere(inner.value)
      ? literal(String(inner.value))
      : inputValue(inner, kind === "env" ? "argument" : kind, name, answers);
    return value ?? whole;
  });
}

/** A publisher's own text may not read the variables of whoever uses it. */
export function literal(text: string): string {
  if (text.includes("${")) throw new Refusal("it holds a variable where the registry has none");
  return text;
}

/** The variable of the environment that stands for a value. */
export function reference({ variable }: Pick<ServerNeed, "variable">): string {
  return `\${${variable}}`;
}

/** Whether an input says something there. */
export function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** A name as that of a variable of the environment. */
export function variableOf(name: string): string {
  return (
    name
      .toUpperCase()
      .replace(/\W+/g, "_")
      .replace(/^_|_$/g, "")
      .replace(/^(?=\d)/, "_") || "VALUE"
  );
}
