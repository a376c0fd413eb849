import type { JsonObject } from "../../../core/mod.ts";
import { EntryError, readField } from "./connection.ts";
import {
  checkLiteral,
  fillTemplate,
  type InputAnswers,
  inputValue,
  isPresent,
  readObjects,
  toServerNeed,
  toVariableReference,
} from "./server-inputs.ts";

interface StartOptions {
  readonly answers: InputAnswers;
  /** Whether only an exact version is accepted. */
  readonly exact: boolean;
}

type Starter = (one: JsonObject, options: StartOptions) => JsonObject;

/** Converters from packages to entries, by the kind of their registry. None of them uses a shell. */
export const starters: Readonly<Record<string, Starter>> = {
  npm: (one, options) =>
    toEntry("npx", one, options, [
      "-y",
      ...rejectShell(readRuntimeArguments(one, options, "-y", "--yes")),
      toVersionedName(one, "npm", options),
      ...readArguments(one, "packageArguments", options),
    ]),
  pypi: (one, options) =>
    toEntry("uvx", one, options, [
      ...readRuntimeArguments(one, options),
      toVersionedName(one, "pypi", options),
      ...readArguments(one, "packageArguments", options),
    ]),
  nuget(one, options) {
    const args = readArguments(one, "packageArguments", options);
    const rest = args.length > 0 ? ["--", ...args] : [];
    return toEntry("dnx", one, options, [toVersionedName(one, "nuget", options), "--yes", ...rest]);
  },
  oci(one, options) {
    const { env, envNames } = readVariables(one, options);
    return toEntry("docker", one, options, [
      ...["run", "-i", "--rm"],
      ...[...Object.keys(env), ...envNames].flatMap((name) => ["-e", name]),
      ...readRuntimeArguments(one, options, "run", "-i", "--rm"),
      toImage(one, options),
      ...readArguments(one, "packageArguments", options),
    ]);
  },
};

function toEntry(
  command: string,
  one: JsonObject,
  options: StartOptions,
  args: readonly string[],
): JsonObject {
  return { command, args, ...readVariables(one, options) };
}

/** Other forms lead a runner past its registry: to a file, a repository, or an address. */
const IDENTIFIERS: Readonly<Record<string, RegExp>> = {
  npm: /^(?:@[\w.~-]+\/)?[\w~][\w.~-]*$/,
  pypi: /^\w[\w.-]*(?:\[[\w,.-]+\])?$/,
  nuget: /^\w[\w.-]*$/,
  oci: /^\w[\w.-]*(?::\d+)?(?:\/[\w.-]+)*(?::[\w.-]+)?(?:@sha256:\w+)?$/,
};
const VERSION = /^[^\s/@:\p{Cc}][^/@:\p{Cc}]*$/u;
const EXACT = /^v?\d[\w.+!-]*$/;

function readIdentifier(one: JsonObject, kind: string): string {
  const identifier = one["identifier"] ?? one["name"];
  // A name that begins with a dash would be an option of the runner.
  if (typeof identifier !== "string" || !IDENTIFIERS[kind]?.test(identifier)) {
    throw new EntryError("its package has no name that can be used");
  }
  return identifier;
}

function toVersionedName(one: JsonObject, kind: string, { exact }: StartOptions): string {
  const { version } = one;
  const identifier = readIdentifier(one, kind);
  const isGiven = typeof version === "string" && version !== "";
  if (isGiven) {
    checkLiteral(version);
    if (!VERSION.test(version)) throw new EntryError("its package has no version that can be used");
  }
  if (exact && !(isGiven && EXACT.test(version) && !/[.-][x*]$/i.test(version)))
    throw new EntryError("its package has no exact version, so another one may be started each time");
  return isGiven ? `${identifier}@${version}` : identifier;
}

function toImage(one: JsonObject, { exact }: StartOptions): string {
  const base = String(readField(one, "registryBaseUrl") ?? "")
    .replace(/^https?:\/\//, "")
    .replace(/\/$/, "");
  const identifier = readIdentifier(one, "oci");
  const isFull = base === "" || base === "docker.io" || identifier.startsWith(`${base}/`);
  const image = isFull ? identifier : readIdentifier({ identifier: `${base}/${identifier}` }, "oci");
  const { version } = one;
  const hasTag = /(:[\w.-]+|@sha256:\w+)$/.test(identifier);
  const isGiven = typeof version === "string" && version !== "";
  if (isGiven && !/^[\w.-]+$/.test(checkLiteral(version)))
    throw new EntryError("its package has no version that can be used");
  const whole = hasTag || !isGiven ? image : `${image}:${version}`;
  if (exact && (!(hasTag || isGiven) || /:latest$/i.test(whole)))
    throw new EntryError("its image has no exact version, so another one may be started each time");
  return whole;
}

/** Returns the publisher's arguments for the runner, without those that are given anyway. */
function readRuntimeArguments(
  one: JsonObject,
  options: StartOptions,
  ...given: readonly string[]
): readonly string[] {
  return readArguments(one, "runtimeArguments", options).filter((argument) => !given.includes(argument));
}

/** npx can run a string in a shell in place of a package, by short forms of its options too. */
function rejectShell(args: readonly string[]): readonly string[] {
  if (args.some((arg) => /^(-\w*c\w*|--call?|--she(l|ll)?|--script-s[a-z]*)(=|$)/i.test(arg)))
    throw new EntryError("it wants to be started by a shell");
  return args;
}

function readArguments(
  one: JsonObject,
  key: "runtimeArguments" | "packageArguments",
  { answers }: StartOptions,
): readonly string[] {
  return readObjects(one, key).flatMap((argument) => {
    const name = typeof argument["name"] === "string" ? checkLiteral(argument["name"]) : undefined;
    const hint = String(name ?? readField(argument, "valueHint") ?? "argument");
    const value = inputValue(argument, "argument", hint, answers);
    if (argument["type"] !== "named" || name === undefined) return value === undefined ? [] : [value];
    if (value !== undefined) return [name, value];
    // For what starts a package, an argument without a value is a switch; for the package, it is one left out.
    return key === "runtimeArguments" ? [name] : [];
  });
}

function readVariables(
  one: JsonObject,
  { answers }: StartOptions,
): { env: Record<string, string>; envNames: string[] } {
  const env: [string, string][] = [];
  const envNames: string[] = [];
  for (const variable of readObjects(one, "environmentVariables")) {
    const { name, value } = variable;
    if (typeof name !== "string" || !/^\w+$/.test(name))
      throw new EntryError("a variable it needs has no usable name");
    if (isPresent(value)) {
      env.push([name, fillTemplate(String(value), variable["variables"], "env", answers)]);
      continue;
    }
    const need = toServerNeed(variable, "env", name, answers);
    const given = answers.given(need);
    if (given !== undefined) env.push([name, given]);
    else if (need.default !== undefined) env.push([name, orDefault(need.variable, need.default)]);
    else if (need.isRequired) env.push([name, toVariableReference(need)]);
    else envNames.push(name);
  }
  return { env: Object.fromEntries(env), envNames };
}

function orDefault(name: string, otherwise: string): string {
  return /[{}]/.test(otherwise) ? checkLiteral(otherwise) : `\${${name}:-${otherwise}}`;
}
