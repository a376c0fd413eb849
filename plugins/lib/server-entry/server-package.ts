import type { JsonObject } from "../../../core/mod.ts";
import { Refusal } from "./connection-of.ts";
import {
  type Answers,
  field,
  filled,
  inputValue,
  isThere,
  literal,
  needOf,
  objectsIn,
  reference,
} from "./server-inputs.ts";

/** How a package is started. */
export interface StartOptions {
  readonly answers: Answers;
  /** Whether only a package of an exact version will do. */
  readonly exact: boolean;
}

type Starter = (one: JsonObject, options: StartOptions) => JsonObject;

/** The entries for packages, by the kind of registry that holds them. No shell has a part in any of them. */
export const starters: Readonly<Record<string, Starter>> = {
  npm: (one, options) => ({
    command: "npx",
    args: [
      "-y",
      ...withoutShell(runtime(one, options, "-y", "--yes")),
      versioned(one, "npm", options),
      ...listOf(one, "packageArguments", options),
    ],
    ...variablesOf(one, options),
  }),
  pypi: (one, options) => ({
    command: "uvx",
    args: [
      ...runtime(one, options),
      versioned(one, "pypi", options),
      ...listOf(one, "packageArguments", options),
    ],
    ...variablesOf(one, options),
  }),
  nuget: (one, options) => {
    const args = listOf(one, "packageArguments", options);
    return {
      command: "dnx",
      args: [versioned(one, "nuget", options), "--yes", ...(args.length > 0 ? ["--", ...args] : [])],
      ...variablesOf(one, options),
    };
  },
  oci(one, options) {
    const variables = variablesOf(one, options);
    const names = [...Object.keys(variables.env), ...variables.envNames];
    return {
      command: "docker",
      args: [
        ...["run", "-i", "--rm"],
        ...names.flatMap((variable) => ["-e", variable]),
        ...runtime(one, options, "run", "-i", "--rm"),
        imageOf(one, options),
        ...listOf(one, "packageArguments", options),
      ],
      ...variables,
    };
  },
};

/** Other forms would lead a runner past its registry: to a file, a repository, or an address. */
const IDENTIFIERS: Readonly<Record<string, RegExp>> = {
  npm: /^(?:@[\w.~-]+\/)?[\w~][\w.~-]*$/,
  pypi: /^\w[\w.-]*(?:\[[\w,.-]+\])?$/,
  nuget: /^\w[\w.-]*$/,
  oci: /^\w[\w.-]*(?::\d+)?(?:\/[\w.-]+)*(?::[\w.-]+)?(?:@sha256:\w+)?$/,
};
const VERSION = /^[^\s/@:\p{Cc}][^/@:\p{Cc}]*$/u;
const EXACT = /^v?\d[\w.+!-]*$/;

function identifierOf(one: JsonObject, kind: string): string {
  const identifier = one["identifier"] ?? one["name"];
  // One that begins with a dash would be an option to whatever starts it.
  if (typeof identifier !== "string" || !IDENTIFIERS[kind]?.test(identifier)) {
    throw new Refusal("its package has no name that can be used");
  }
  return identifier;
}

function versioned(one: JsonObject, kind: string, { exact }: StartOptions): string {
  const { version } = one;
  const identifier = identifierOf(one, kind);
  const isGiven = typeof version === "string" && version !== "";
  if (isGiven) {
    literal(version);
    if (!VERSION.test(version)) throw new Refusal("its package has no version that can be used");
  }
  if (exact && !(isGiven && EXACT.test(version) && !/[.-][x*]$/i.test(version)))
    throw new Refusal("its package has no exact version, so nobody knows what it will be");
  return isGiven ? `${identifier}@${version}` : identifier;
}

function imageOf(one: JsonObject, { exact }: StartOptions): string {
  const base = String(field(one, "registryBaseUrl") ?? "")
    .replace(/^https?:\/\//, "")
    .replace(/\/$/, "");
  const identifier = identifierOf(one, "oci");
  const isFull = base === "" || base === "docker.io" || identifier.startsWith(`${base}/`);
  const image = isFull ? identifier : identifierOf({ identifier: `${base}/${identifier}` }, "oci");
  const { version } = one;
  const hasTag = /(:[\w.-]+|@sha256:\w+)$/.test(identifier);
  const isGiven = typeof version === "string" && version !== "";
  if (isGiven && !/^[\w.-]+$/.test(literal(version)))
    throw new Refusal("its package has no version that can be used");
  const whole = hasTag || !isGiven ? image : `${image}:${version}`;
  if (exact && (!(hasTag || isGiven) || /:latest$/i.test(whole)))
    throw new Refusal("its image has no exact version, so nobody knows what it will be");
  return whole;
}

/** The publisher's arguments for what starts the package, without those that are given anyway. */
function runtime(one: JsonObject, options: StartOptions, ...given: readonly string[]): readonly string[] {
  return listOf(one, "runtimeArguments", options).filter((argument) => !given.includes(argument));
}

/** npx can be told to hand a text to a shell in place of a package, by the short forms of its options too. */
function withoutShell(args: readonly string[]): readonly string[] {
  if (args.some((arg) => /^(-\w*c\w*|--call?|--she(l|ll)?|--script-s[a-z]*)(=|$)/i.test(arg)))
    throw new Refusal("it wants to be started by a shell");
  return args;
}

function listOf(
  one: JsonObject,
  key: "runtimeArguments" | "packageArguments",
  { answers }: StartOptions,
): readonly string[] {
  return objectsIn(one, key).flatMap((argument) => {
    const name = typeof argument["name"] === "string" ? literal(argument["name"]) : undefined;
    const hint = String(name ?? field(argument, "valueHint") ?? "argument");
    const value = inputValue(argument, "argument", hint, answers);
    if (argument["type"] !== "named" || name === undefined) return value === undefined ? [] : [value];
    if (value !== undefined) return [name, value];
    // For what starts a package, an argument without a value is a switch; for the package, it is one left out.
    return key === "runtimeArguments" ? [name] : [];
  });
}

function variablesOf(
  one: JsonObject,
  { answers }: StartOptions,
): { env: Record<string, string>; envNames: string[] } {
  const env: [string, string][] = [];
  const envNames: string[] = [];
  for (const variable of objectsIn(one, "environmentVariables")) {
    const { name, value } = variable;
    if (typeof name !== "string" || !/^\w+$/.test(name))
      throw new Refusal("a variable it needs has no usable name");
    if (isThere(value)) {
      env.push([name, filled(String(value), variable["variables"], "env", answers)]);
      continue;
    }
    const need = needOf(variable, "env", name, answers);
    const given = answers.given(need);
    if (given !== undefined) env.push([name, given]);
    else if (need.default !== undefined) env.push([name, orDefault(need.variable, need.default)]);
    else if (need.isRequired) env.push([name, reference(need)]);
    else envNames.push(name);
  }
  return { env: Object.fromEntries(env), envNames };
}

function orDefault(name: string, otherwise: string): string {
  return /[{}]/.test(otherwise) ? literal(otherwise) : `\${${name}:-${otherwise}}`;
}
