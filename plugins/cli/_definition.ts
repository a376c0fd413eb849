import { shownCommand, shownUrl } from "../_masked.ts";
import { fillConnection } from "../sources/expand.ts";
import { type ServerConfig, thisMachine } from "../sources/mod.ts";
import { shownLine } from "./_shown.ts";

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

/** The same as lines of text. */
export function describeDefinition(config: ServerConfig): string {
  const { name, command, url, cwd, envFile, variables, headers, reads } = shownDefinition(config);
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
