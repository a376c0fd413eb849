import type { JsonObject, Tool } from "../../core/mod.ts";
import { getAllowedValues, getTypes } from "../../plugins/lib/schema/schema.ts";
import { listToolParameters, type Parameter } from "../shared/meta-tools.ts";

/** A value in a request: not a word to search for, but what a parameter may be filled with. */
export interface Literal {
  readonly kind: "email" | "url" | "date" | "number" | "id";
  readonly text: string;
  /** The word before it that says what it is, such as `amount`. */
  readonly label?: string | undefined;
}

/** A request without its values, and the values. */
export interface SplitRequest {
  readonly words: string;
  readonly literals: readonly Literal[];
}

/** Values that the parameters of an operation can be filled with. */
export interface FilledParams {
  readonly params: JsonObject;
  /** Values between which the request does not decide, by parameter. */
  readonly ambiguous: ReadonlyMap<string, readonly string[]>;
}

const patterns: readonly (readonly [Literal["kind"], RegExp])[] = [
  ["url", /^https?:\/\/\S+$/i],
  ["email", /^[^\s@<>"]+@[^\s@<>"]+\.[^\s@<>"]+$/],
  ["date", /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$/],
  ["number", /^[$€£₦¥]?-?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?$/],
  ["id", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i],
  // A prefix in capitals, or digits after one: "charge_authorization" is a name.
  ["id", /^[A-Z]{2,12}_[A-Za-z0-9]{3,}$/],
  ["id", /^[A-Za-z]{1,12}_(?=\w*\d)\w{3,}$/],
  ["id", /^[A-Za-z]{1,4}\d{6,}$/],
  // Long, with digits among letters: "oauth2" and "base64" are words.
  ["id", /^(?=(.*\d){3})(?=(.*[a-z]){3})[a-z\d]{9,}$/i],
];
/** Words that only say what the value after them is. */
const LABEL =
  /^(amount|code|currency|date|e-?mail|from|id|identifier|key|number|on|reference|ref|since|to|token|until|url|uri|worth|of)$/i;
const MAX_CHARACTERS = 4_000;
const MAX_LITERALS = 32;

/**
 * Takes the values out of a request: ids, e-mail addresses, amounts, dates and URLs match the words of no operation.
 * A number for which `isWord` is true stays, since an operation has it in its name.
 */
export function splitLiterals(query: string, isWord: (word: string) => boolean = () => false): SplitRequest {
  const words: string[] = [];
  const literals: Literal[] = [];
  for (const part of query.slice(0, MAX_CHARACTERS).split(/\s+/)) {
    const text = part.replace(/^[("'<[]+|[)"'>\],.;:!?]+$/g, "");
    const kind = patterns.find(([, pattern]) => pattern.test(text))?.[0];
    const label = LABEL.test((words.at(-1) ?? "").replace(/\W+$/, "")) ? words.at(-1) : undefined;
    const isName = kind === "number" && label === undefined && isWord(text);
    if (kind === undefined || isName || literals.length === MAX_LITERALS) {
      words.push(part);
      continue;
    }
    if (label !== undefined) words.pop();
    literals.push({ kind, text, label: label?.toLowerCase().replace(/\W+$/, "") });
  }
  return { words: words.join(" ").trim(), literals };
}

/**
 * Fills the parameters of an operation with the values of a request and its context, where type and format fit. A
 * required parameter that has a list of values gets the one that the request names.
 */
export function fillParams(
  { inputSchema }: Tool,
  { words, literals }: SplitRequest,
  context: Readonly<Record<string, unknown>>,
): FilledParams {
  const parameters = listToolParameters(inputSchema);
  const params: Record<string, unknown> = {};
  const ambiguous = new Map<string, readonly string[]>();
  for (const { name, schema } of parameters) {
    const value = context[name];
    if (typeof value === "string" && isAllowed(schema, value)) params[name] = value;
  }
  const named = ` ${toWords(words)} `;
  for (const { name, schema, required } of parameters) {
    if (!required || Object.hasOwn(params, name)) continue;
    const values = (getAllowedValues(schema) ?? []).filter(
      (value) => typeof value === "string" && value !== "" && named.includes(` ${toWords(value)} `),
    );
    if (values.length === 1) params[name] = values[0];
  }
  const candidates = literals.map((literal) => ({ literal, fits: findFits(parameters, literal, params) }));
  for (const { literal, fits } of candidates) {
    const rivals = candidates.filter((other) => other.fits.some((one) => fits.includes(one)));
    const [parameter, ...others] = fits;
    if (parameter === undefined) continue;
    // One value for one parameter is filled in; anything else is asked.
    if (others.length === 0 && rivals.length === 1)
      params[parameter.name] = toValue(parameter.schema, literal);
    else
      for (const { name } of fits)
        ambiguous.set(
          name,
          rivals.map(({ literal: { text } }) => text),
        );
  }
  return { params, ambiguous };
}

/** Finds the parameters that a value is for: those that its label names, else required ones, else those of its kind. */
function findFits(parameters: readonly Parameter[], literal: Literal, filled: object): readonly Parameter[] {
  const free = parameters.filter(
    ({ name, schema }) => !Object.hasOwn(filled, name) && toValue(schema, literal) !== undefined,
  );
  const named = free.filter(({ name }) => literal.label !== undefined && hasWord(name, literal.label));
  if (named.length > 0) return preferRequired(named);
  const suiting = free.filter((parameter) => suits(parameter, literal));
  const prefix = /^([A-Za-z]+)_/.exec(literal.text)?.[1]?.toLowerCase();
  const alike =
    prefix === undefined
      ? []
      : suiting.filter(({ name }) => splitName(name).some((word) => word.startsWith(prefix)));
  return preferRequired(alike.length > 0 ? alike : suiting);
}

function preferRequired(parameters: readonly Parameter[]): readonly Parameter[] {
  const required = parameters.filter((parameter) => parameter.required);
  return required.length > 0 ? required : parameters;
}

const names: Readonly<Record<Literal["kind"], RegExp>> = {
  email: /e?mail/i,
  url: /ur[li]|link|website|endpoint|webhook|callback/i,
  date: /date|time|day|_at$|^(from|to|since|until|start|end)/i,
  number: /amount|price|total|sum|value|cost|number/i,
  id: /(^|_|-)id$|Id$|code|reference|token|key|transaction|number$|^(ref|name)$/i,
};
const formats: Readonly<Partial<Record<Literal["kind"], RegExp>>> = {
  email: /^(idn-)?email$/,
  url: /^(uri|url|iri)/,
  date: /^date(-time)?$/,
  id: /^uuid$/,
};

/** Whether a parameter is for values of this kind, by its format or its name. */
function suits({ name, schema }: Parameter, { kind }: Literal): boolean {
  const { format } = schema;
  if (typeof format === "string" && formats[kind]?.test(format)) return true;
  // A string of another format cannot take it.
  const isOther = typeof format === "string" && Object.values(formats).some((other) => other.test(format));
  return !isOther && names[kind].test(name);
}

/** Returns the value as the type of a parameter has it; undefined if it does not fit. */
function toValue(schema: JsonObject, { kind, text }: Literal): unknown {
  const types = getTypes(schema);
  const isNumeric = types.some((type) => type === "number" || type === "integer");
  if (kind === "number" && isNumeric) {
    const value = Number(text.replace(/[^\d.-]/g, ""));
    const isWhole = Number.isSafeInteger(value);
    const { minimum, maximum } = schema;
    const isWithin =
      !(typeof minimum === "number" && value < minimum) && !(typeof maximum === "number" && value > maximum);
    return (isWhole || types.includes("number")) && isWithin && isAllowed(schema, value) ? value : undefined;
  }
  const isString = types.length === 0 || types.includes("string");
  return isString && kind !== "number" && hasFormat(schema, text) && isAllowed(schema, text)
    ? text
    : undefined;
}

/** Whether a value is the day or the moment that a schema asks for: validation refuses the one for the other. */
function hasFormat({ format }: JsonObject, text: string): boolean {
  if (format === "date") return !text.includes("T");
  return format !== "date-time" || /T\d{2}:\d{2}:\d{2}.*(Z|[+-]\d{2}:\d{2})$/.test(text);
}

function isAllowed(schema: JsonObject, value: unknown): boolean {
  const allowed = getAllowedValues(schema);
  const types = getTypes(schema);
  const type = typeof value === "string" ? "string" : undefined;
  return (
    (allowed?.includes(value) ?? true) && (type === undefined || types.length === 0 || types.includes(type))
  );
}

function hasWord(name: string, label: string): boolean {
  const wanted = label.replace("-", "");
  const meaning = wanted === "ref" ? "reference" : wanted;
  return splitName(name).includes(meaning);
}

function toWords(text: string): string {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .join(" ")
    .trim();
}

function splitName(name: string): string[] {
  return name
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z\d]+/);
}
