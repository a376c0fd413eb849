import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { getObject } from "../../../core/services/sources.ts";
import { EntryError, readField } from "./connection.ts";

/** Value that a server needs from its user. */
export interface ServerNeed {
  readonly kind: NeedKind;
  /** Name that its publisher gives it. */
  readonly name: string;
  /** Environment variable that it is taken from if the user gives no value. */
  readonly variable: string;
  readonly description?: string | undefined;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly default?: string | undefined;
  readonly choices?: readonly string[] | undefined;
}

/** Target of a value: a variable, a header, an argument, or the URL. */
export type NeedKind = "env" | "header" | "argument" | "url";

/** Answers for what a server wants to know. */
export interface InputAnswers {
  /** Returns the variable that stands for a missing value. */
  variable(kind: NeedKind, name: string): string;
  /** Returns a given value: as it is, or as a `${VARIABLE}`. */
  given(need: ServerNeed): string | undefined;
}

/** Gives no value: all are taken from the environment. */
export const noAnswers: InputAnswers = {
  variable: (kind, name) => (kind === "env" ? name : toVariableName(name)),
  given: () => undefined,
};

/** Reads the objects of a list; none if the field is no list. */
export function readObjects(object: JsonObject, name: string): readonly JsonObject[] {
  const value = readField(object, name);
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns the value of an input: fixed, given, default, or a variable; undefined if it may be left out. */
export function inputValue(
  input: JsonObject,
  kind: NeedKind,
  name: string,
  answers: InputAnswers,
): string | undefined {
  const { value } = input;
  if (isPresent(value)) return fillTemplate(String(value), input["variables"], kind, answers);
  const need = toServerNeed(input, kind, name, answers);
  const given = answers.given(need);
  if (given !== undefined) return given;
  if (need.default !== undefined) return checkLiteral(need.default);
  return need.isRequired ? toVariableReference(need) : undefined;
}

/** Describes the value that an input asks for. */
export function toServerNeed(
  input: JsonObject,
  kind: NeedKind,
  name: string,
  answers: InputAnswers,
): ServerNeed {
  const { description, default: otherwise, choices } = input;
  return {
    kind,
    name,
    variable: answers.variable(kind, name),
    description: typeof description === "string" ? description : undefined,
    isRequired: readField(input, "isRequired") === true,
    isSecret: readField(input, "isSecret") === true,
    default: isPresent(otherwise) ? String(otherwise) : undefined,
    choices: Array.isArray(choices) ? choices.filter((choice) => typeof choice === "string") : undefined,
  };
}

/** Fills `{name}` from the definitions of its variables. */
export function fillTemplate(
  template: string,
  variables: unknown,
  kind: NeedKind,
  answers: InputAnswers,
): string {
  return checkLiteral(template).replace(/\{([\w-]+)\}/g, (whole, name: string) => {
    const known = getObject(variables);
    if (!Object.hasOwn(known, name)) return whole;
    const input = getObject(known, name);
    // A template has no place for what is left out.
    const inner = {
      ...input,
      isRequired: true,
      value: isPresent(input["value"]) ? input["value"] : undefined,
    };
    const value = isPresent(inner.value)
      ? checkLiteral(String(inner.value))
      : inputValue(inner, kind === "env" ? "argument" : kind, name, answers);
    return value ?? whole;
  });
}

/** Refuses variables in the string of a publisher: it may not read the environment of the user. */
export function checkLiteral(text: string): string {
  if (text.includes("${")) throw new EntryError("it holds a variable where the registry has none");
  return text;
}

/** Returns the reference to an environment variable. */
export function toVariableReference({ variable }: Pick<ServerNeed, "variable">): string {
  return `\${${variable}}`;
}

export function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Converts a name to that of an environment variable. */
export function toVariableName(name: string): string {
  return (
    name
      .toUpperCase()
      .replace(/\W+/g, "_")
      .replace(/^_|_$/g, "")
      .replace(/^(?=\d)/, "_") || "VALUE"
  );
}
