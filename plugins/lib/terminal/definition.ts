import type { ServerConfig } from "../../../core/services/sources.ts";
import { shownCommand, shownUrl } from "../redact.ts";
import { fillConnection } from "../server-entry/expand.ts";
import { thisMachine } from "../server-entry/machine.ts";
import { counted, shownLine } from "./output.ts";

/** What a person may see of a definition before they approve it: names, and no values. */
export interface ShownDefinition {
  readonly name: string;
  readonly command?: string;
  readonly url?: string;
  readonly cwd?: string;
  readonly envFile?: string;
  /** The variables that it sets for the server. */
  readonly variables: readonly string[];
  readonly headers: readonly string[];
  /** The person's own variables that the server gets to see. */
  readonly reads: readonly string[];
  readonly file?: string;
}

/** What would run or be asked, so that a person knows what they approve. */
export function shownDefinition(config: ServerConfig): ShownDefinition {
  const { name, connection, origin } = config;
  const shared = { reads: variablesReadBy(config), ...(origin.file !== undefined && { file: origin.file }) };
  if (connection.type !== "stdio") {
    const headers = namesIn(connection.headers);
    return { name, url: shownLine(shownUrl(connection.url)), variables: [], headers, ...shared };
  }
  return {
    name,
    command: shownLine(shownCommand(connection.command, connection.args)),
    ...(connection.cwd !== undefined && { cwd: shownLine(connection.cwd) }),
    ...(connection.envFile !== undefined && { envFile: shownLine(connection.envFile) }),
    variables: namesIn(connection.env),
    headers: [],
    ...shared,
  };
}

/** Formats a definition as lines for a terminal. */
export function describeDefinition(definition: ShownDefinition): string {
  const { name, command, url, cwd, envFile, variables, headers, reads } = definition;
  const rows: readonly (readonly [what: string, value: string | undefined])[] = [
    ["Runs", command],
    ["In the folder", cwd],
    ["Connects to", url],
    ["Sends the headers", headers.join(", ")],
    ["Sets the variables", variables.join(", ")],
    ["Sets the variables of the file", envFile],
    ["Reads your variables", reads.join(", ")],
  ];
  const shown = rows.filter(([, value]) => value).map(([what, value]) => `  ${what}: ${value}`);
  return [name, ...shown].join("\n");
}

/** Formats tools as lines for a terminal: the name of each, its categories, and what its server says of it. */
export function describeTools(
  tools: readonly {
    readonly name: string;
    readonly categories: readonly string[];
    readonly summary: string;
  }[],
): readonly string[] {
  return [
    `  ${counted(tools.length, "tool")}:`,
    ...tools.map(({ name, categories, summary }) => {
      const does = categories.length > 0 ? ` (${categories.join(", ")})` : "";
      return shownLine(`${name}${does}${summary === "" ? "" : `: ${summary}`}`).replace(/^/, "    ");
    }),
  ];
}

function namesIn(map: Readonly<Record<string, string>>): string[] {
  return Object.keys(map).map(shownLine);
}

/** A computer without variables is asked for all of them; whether one has a default is no matter then. */
function variablesReadBy(config: ServerConfig): string[] {
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
