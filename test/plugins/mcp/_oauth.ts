import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { HttpConnection } from "../../../core/services/sources.ts";
import { type Authorized, type AuthorizeOptions, authorize } from "../../../plugins/mcp/oauth/login.ts";
import { type Listening, legacySse, modern } from "../../fixtures/http-servers.ts";
import { type OAuthServer, type OAuthServerOptions, oauthServer } from "../../fixtures/oauth-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { remote } from "./_http.ts";

/** A server that wants a login, and all that belongs to it. */
export interface Guarded {
  readonly service: OAuthServer;
  readonly server: Listening;
  readonly connection: HttpConnection;
  readonly stateFolder: string;
  /** Logs in, with a browser that approves everything. */
  login(options?: Partial<AuthorizeOptions>): Promise<Authorized>;
  /** Reads the stored login as a string; empty if there is none. */
  kept(): Promise<string | undefined>;
}

/** Starts a server that wants a login. */
export async function guarded(
  options: OAuthServerOptions = {},
  more: Partial<HttpConnection> = {},
): Promise<Guarded> {
  const service = await oauthServer(more.type === "sse" ? { path: "/sse", ...options } : options);
  const server =
    more.type === "sse" ? await legacySse(service.guard) : await modern("stateless", service.guard);
  const stateFolder = await temporaryFolder();
  const connection = remote(server.url, more);
  return {
    service,
    server,
    connection,
    stateFolder,
    login: (given) =>
      authorize(connection, { name: "remote", stateFolder, openBrowser: (url) => fetch(url), ...given }),
    async kept() {
      const folder = join(stateFolder, "oauth");
      const [file] = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json"));
      return file === undefined ? undefined : readFile(join(folder, file), "utf8");
    },
  };
}
