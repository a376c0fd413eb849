import type { ServerConfig } from "../../../core/services/sources.ts";

/** The content and the path of a client's file. */
export interface Importer {
  readonly client: string;
  readonly fixture: string;
  /** The path on each system; one string if it is equal everywhere. */
  readonly user?: Everywhere | readonly Everywhere[];
  readonly project?: readonly string[];
  readonly servers: Readonly<Record<string, Partial<ServerConfig>>>;
}

/** A path for all systems, or one for each. */
export type Everywhere = string | { readonly linux: string; readonly darwin: string; readonly win32: string };

/** A desktop application's folder on each system. */
export function desktop(path: string): Everywhere {
  return {
    linux: `home/.config/${path}`,
    darwin: `home/Library/Application Support/${path}`,
    win32: `appdata/${path}`,
  };
}

/** A connection to a process. */
export function stdio(
  command: string,
  args: readonly string[] = [],
  more: object = {},
): Partial<ServerConfig> {
  return { connection: { type: "stdio", command, args, env: {}, ...more } };
}

/** A connection by URL. */
export function http(
  url: string,
  headers: Record<string, string> = {},
  type: "http" | "sse" = "http",
): Partial<ServerConfig> {
  return { connection: { type, url, headers } };
}
