import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { Refusal } from "./_fields.ts";
import { objectAt, type RawEntry } from "./source.ts";

/** A server as the MCP registry describes it. What it needs and does not give is asked of the environment. */
export function fromServerJson(data: JsonObject): RawEntry {
  const { name } = data;
  try {
    const entry = packageOf(data) ?? remoteOf(data);
    if (!entry) throw new Refusal("it has neither a package that can be started here nor a remote");
    return { name, entry: { description: data["description"], ...entry } };
  } catch (thrown) {
    if (thrown instanceof Refusal) return { name, entry: data, reason: thrown.message };
    throw thrown;
  }
}

/** A field in the spelling of today or in that of files from before autumn 2025. */
function field(object: JsonObject, name: string): unknown {
  return object[name] ?? object[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

function objectsIn(object: JsonObject, name: string): readonly JsonObject[] {
  const value = field(object, name);
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function packageOf(data: JsonObject): JsonObject | undefined {
  for (const one of objectsIn(data, "packages")) {
    const transport = objectAt(one, "transport")["type"] ?? "stdio";
    const kind = String(field(one, "registryType") ?? field(one, "registryName"));
    const start = Object.hasOwn(starters, kind) ? starters[kind] : undefined;
    if (start && transport === "stdio") return start(one);
  }
}

const starters: Readonly<Record<string, (one: JsonObject) => JsonObject>> = {
  npm: (one) => ({
    command: "npx",
    args: ["-y", ...runtime(one, "-y", "--yes"), versioned(one, "@"), ...listOf(one, "packageArguments")],
    ...variablesOf(one),
  }),
  pypi: (one) => ({
    command: "uvx",
    args: [...runtime(one), versioned(one, "@"), ...listOf(one, "packageArguments")],
    ...variablesOf(one),
  }),
  nuget: (one) => {
    const args = listOf(one, "packageArguments");
    return {
      command: "dnx",
      args: [versioned(one, "@"), "--yes", ...(args.length > 0 ? ["--", ...args] : [])],
      ...variablesOf(one),
    };
  },
  oci(one) {
    const variables = variablesOf(one);
    const names = [...Object.keys(variables.env), ...variables.envNames];
    return {
      command: "docker",
      args: [
        ...["run", "-i", "--rm"],
        ...names.flatMap((variable) => ["-e", variable]),
        ...runtime(one, "run", "-i", "--rm"),
        imageOf(one),
        ...listOf(one, "packageArguments"),
      ],
      ...variables,
    };
  },
};

function identifierOf(one: JsonObject): string {
  const identifier = one["identifier"] ?? one["name"];
  // One that begins with a dash would be an option to whatever starts it.
  if (typeof identifier !== "string" || !/^[@\w]/.test(identifier)) {
    throw new Refusal("its package has no name that can be used");
  }
  return literal(identifier);
}

function versioned(one: JsonObject, separator: string): string {
  const { version } = one;
  return typeof version === "string" && version !== ""
    ? `${identifierOf(one)}${separator}${literal(version)}`
    : identifierOf(one);
}

function imageOf(one: JsonObject): string {
  const base = String(field(one, "registryBaseUrl") ?? "")
    .replace(/^https?:\/\//, "")
    .replace(/\/$/, "");
  const identifier = identifierOf(one);
  const isFull = base === "" || base === "docker.io" || identifier.startsWith(`${base}/`);
  const image = isFull ? identifier : `${literal(base)}/${identifier}`;
  const hasTag = /(:[\w.-]+|@sha256:\w+)$/.test(identifier);
  return hasTag ? image : versioned({ ...one, identifier: image }, ":");
}

/** The publisher's arguments for what starts the package, without those that are given anyway. */
function runtime(one: JsonObject, ...given: readonly string[]): readonly string[] {
  return listOf(one, "runtimeArguments").filter((argument) => !given.includes(argument));
}

function listOf(one: JsonObject, key: "runtimeArguments" | "packageArguments"): readonly string[] {
  return objectsIn(one, key).flatMap((argument) => {
    const name = typeof argument["name"] === "string" ? literal(argument["name"]) : undefined;
    const value = givenTo(argument, name ?? String(field(argument, "valueHint") ?? "argument"));
    if (argument["type"] !== "named" || name === undefined) return value === undefined ? [] : [value];
    if (value !== undefined) return [name, value];
    // For what starts a package, an argument without a value is a switch; for the package, it is one left out.
    return key === "runtimeArguments" ? [name] : [];
  });
}

function variablesOf(one: JsonObject): { env: Record<string, string>; envNames: string[] } {
  const env: [string, string][] = [];
  const envNames: string[] = [];
  for (const variable of objectsIn(one, "environmentVariables")) {
    const { name } = variable;
    if (typeof name !== "string" || !/^\w+$/.test(name))
      throw new Refusal("a variable it needs has no usable name");
    const { value, default: otherwise } = variable;
    if (value !== undefined && value !== null) env.push([name, filled(String(value), variable["variables"])]);
    else if (otherwise !== undefined && otherwise !== null)
      env.push([name, orDefault(name, String(otherwise))]);
    else if (field(variable, "isRequired") === true) env.push([name, `\${${name}}`]);
    else envNames.push(name);
  }
  return { env: Object.fromEntries(env), envNames };
}

function remoteOf(data: JsonObject): JsonObject | undefined {
  const [remote] = objectsIn(data, "remotes");
  if (!remote) return undefined;
  const variables = remote["variables"];
  const url = typeof remote["url"] === "string" ? filled(remote["url"], variables) : undefined;
  const headers = objectsIn(remote, "headers").flatMap((header) => {
    const name = String(header["name"]);
    const value = givenTo({ variables, ...header }, name);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    type: remote["type"] ?? field(remote, "transportType"),
    url,
    headers: Object.fromEntries(headers),
  };
}

/** What an input says of its value: it is fixed, has a default, must be given by a person, or may be left out. */
function givenTo(input: JsonObject, name: string): string | undefined {
  const { value, default: otherwise } = input;
  if (value !== undefined && value !== null) return filled(String(value), input["variables"]);
  if (otherwise !== undefined && otherwise !== null) return literal(String(otherwise));
  return field(input, "isRequired") === true ? `\${${variableOf(name)}}` : undefined;
}

/** Fills `{name}` from what is said of its variables. */
function filled(template: string, variables: unknown): string {
  return literal(template).replace(/\{([\w-]+)\}/g, (whole, name: string) => {
    const known = objectAt(variables);
    if (!Object.hasOwn(known, name)) return whole;
    const { value, default: otherwise } = objectAt(known, name);
    const given = value ?? otherwise;
    return given === undefined || given === null ? `\${${variableOf(name)}}` : literal(String(given));
  });
}

/** A publisher's own text may not read the variables of whoever uses it. */
function literal(text: string): string {
  if (text.includes("${")) throw new Refusal("it holds a variable where the registry has none");
  return text;
}

function orDefault(name: string, otherwise: string): string {
  return /[{}]/.test(otherwise) ? literal(otherwise) : `\${${name}:-${otherwise}}`;
}

function variableOf(name: string): string {
  return (
    name
      .toUpperCase()
      .replace(/\W+/g, "_")
      .replace(/^_|_$/g, "")
      .replace(/^(?=\d)/, "_") || "VALUE"
  );
}
