import type { ServerConfig } from "../../../core/services/sources.ts";
import { redactCommand, redactSecrets, redactUrl } from "../redact.ts";
import { fillConnection, isLoaderVariable } from "../server-entry/expand.ts";
import { thisMachine } from "../server-entry/machine.ts";
import { formatCount, toTerminalLine } from "./output.ts";

/** Definition of a server for approval: names, and no values. */
export interface DefinitionSummary {
  readonly name: string;
  readonly command?: string;
  readonly url?: string;
  readonly cwd?: string;
  readonly envFile?: string;
  /** Variables that the definition sets for the server. */
  readonly variables: readonly string[];
  /** Variables that decide what code is loaded, with their values. */
  readonly loaders?: readonly string[];
  readonly headers: readonly string[];
  /** Variables of the user that the server can read. */
  readonly reads: readonly string[];
  readonly file?: string;
  /** Local files that are approved with it. */
  readonly files?: readonly string[];
}

/** Summarizes what a server would run or connect to, for its approval. */
export function summarizeDefinition(config: ServerConfig): DefinitionSummary {
  const { name, connection, origin } = config;
  const shared = {
    reads: findReadVariables(config),
    ...(origin.file !== undefined && { file: origin.file }),
  };
  if (connection.type !== "stdio") {
    const headers = listNames(connection.headers);
    return { name, url: toTerminalLine(redactUrl(connection.url)), variables: [], headers, ...shared };
  }
  const loaders = Object.entries(connection.env).filter(([variable]) => isLoaderVariable(variable));
  return {
    name,
    command: toTerminalLine(redactCommand(connection.command, connection.args)),
    ...(connection.cwd !== undefined && { cwd: toTerminalLine(connection.cwd) }),
    ...(connection.envFile !== undefined && { envFile: toTerminalLine(connection.envFile) }),
    variables: listNames(connection.env),
    ...(loaders.length > 0 && {
      loaders: loaders.map(([variable, value]) => toTerminalLine(`${variable}=${redactSecrets(value)}`)),
    }),
    headers: [],
    ...shared,
  };
}

/** Formats a definition as lines for a terminal. */
export function describeDefinition(definition: DefinitionSummary): string {
  const {
    name,
    command,
    url,
    cwd,
    envFile,
    variables,
    headers,
    reads,
    loaders = [],
    files = [],
  } = definition;
  const rows: readonly (readonly [what: string, value: string | undefined])[] = [
    ["Runs", command],
    ["In the folder", cwd],
    ["Connects to", url],
    ["Sends the headers", headers.join(", ")],
    ["Sets the variables", variables.join(", ")],
    ["Loads code by", loaders.join(", ")],
    ["Sets the variables of the file", envFile],
    ["Reads your variables", reads.join(", ")],
    ["Local files, approved with it", files.map(toTerminalLine).join(", ")],
  ];
  const shown = rows.filter(([, value]) => value).map(([what, value]) => `  ${what}: ${value}`);
  return [name, ...shown].join("\n");
}

/** Formats tools as lines for a terminal: the name of each, its categories, and what its server says of it. */
export function describeToolLines(
  tools: readonly {
    readonly name: string;
    readonly categories: readonly string[];
    readonly summary: string;
  }[],
): readonly string[] {
  return [
    `  ${formatCount(tools.length, "tool")}:`,
    ...tools.map(({ name, categories, summary }) => {
      const does = categories.length > 0 ? ` (${categories.join(", ")})` : "";
      return toTerminalLine(`${name}${does}${summary === "" ? "" : `: ${summary}`}`).replace(/^/, "    ");
    }),
  ];
}

function listNames(map: Readonly<Record<string, string>>): string[] {
  return Object.keys(map).map(toTerminalLine);
}

/** Fills in the definition on a machine without variables, which is asked for all of them, also for those with a default. */
function findReadVariables(config: ServerConfig): string[] {
  const names = new Set<string>();
  const env = new Proxy<Record<string, string>>(
    {},
    {
      getOwnPropertyDescriptor(_, name) {
        names.add(String(name));
        return undefined;
      },
    },
  );
  fillConnection(config, { ...thisMachine(), platform: "linux", env });
  return [...names];
}
