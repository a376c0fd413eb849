import { chmod, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { replaceFile } from "../../lib/files.ts";
import { sha256 } from "../../lib/hash.ts";

/** Identifies a login: a user at a server. */
export interface LoginKey {
  readonly url: string;
  readonly person: string;
}

/** A login of a user at a server. */
export interface Login {
  /** The server, for a reader of the file. */
  readonly server: string;
  readonly person: string;
  /** The issuer of the tokens; only it and the server are sent them. */
  readonly issuer: string;
  readonly authorizationServer: string;
  /** The issuer's own metadata, unchanged. */
  readonly metadata?: JsonObject | undefined;
  readonly resource?: string | undefined;
  readonly client: { readonly client_id: string; readonly client_secret?: string | undefined };
  readonly tokens: LoginTokens;
  /** Expiry of the access token, in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
  /** Scope that the server asked for and this login does not cover; the next login will. */
  readonly wantedScope?: string | undefined;
}

/** Tokens, by their names in OAuth. */
export interface LoginTokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  readonly expires_in?: number | undefined;
}

/** The exclusive right to spend a refresh token. */
export interface Claim {
  release(): Promise<void>;
}

/** Stores logins, one file each; several processes may use it at once. */
export interface TokenStore {
  read(key: LoginKey): Promise<Login | undefined>;
  write(key: LoginKey, login: Login): Promise<void>;
  remove(key: LoginKey): Promise<void>;
  /** Claims a refresh token, since one that is spent twice may end the login. Returns nothing if another process has claimed it. */
  claim(key: LoginKey, refreshToken: string): Promise<Claim | undefined>;
}

const optionalText = v.optional(v.string());
const schema = v.object({
  server: v.string(),
  person: v.string(),
  issuer: v.string(),
  authorizationServer: v.pipe(v.string(), v.url()),
  metadata: v.optional(v.custom<JsonObject>(isJsonObject)),
  resource: optionalText,
  client: v.looseObject({ client_id: v.string(), client_secret: optionalText }),
  tokens: v.object({
    access_token: v.string(),
    token_type: v.string(),
    refresh_token: optionalText,
    scope: optionalText,
    expires_in: v.optional(v.number()),
  }),
  expiresAt: v.optional(v.number()),
  wantedScope: optionalText,
});

/** Longer than any request for a new token takes: a process that has held a claim for this long has ended. */
const ABANDONED_MS = 40_000;
const MAX_CLAIMS = 8;

/** Creates a store in `<stateFolder>/oauth`, in files that only their owner can read. */
export function tokenStore(stateFolder: string): TokenStore {
  const folder = join(stateFolder, "oauth");
  const fileOf = ({ url, person }: LoginKey): string =>
    join(folder, `${sha256(JSON.stringify([url, person]))}.json`);

  return {
    async read(key) {
      try {
        const parsed = v.safeParse(schema, JSON.parse(await readFile(fileOf(key), "utf8")));
        // A damaged file, or one of another version, counts as none: the user logs in again.
        return parsed.success ? parsed.output : undefined;
      } catch {
        return undefined;
      }
    },
    async write(key, login) {
      await makePrivateFolder();
      const bytes = Buffer.from(`${JSON.stringify(login, undefined, 2)}\n`);
      await replaceFile(fileOf(key), { bytes, mode: 0o600 });
    },
    remove: (key) => rm(fileOf(key), { force: true }),
    async claim(key, refreshToken) {
      await makePrivateFolder();
      const base = `${fileOf(key)}.${sha256(refreshToken).slice(0, 16)}`;
      const files = Array.from({ length: MAX_CLAIMS }, (_, turn) => `${base}.${turn}.claim`);
      const release = async (): Promise<void> => {
        await Promise.all(files.map((file) => rm(file, { force: true })));
      };
      // An abandoned claim is not removed, which two processes could do at once; the next number is taken.
      for (const file of files) {
        if (await create(file)) return { release };
        if (!(await isAbandoned(file))) return undefined;
      }
      await release();
      return undefined;
    },
  };

  async function makePrivateFolder(): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
  }
}

async function create(file: string): Promise<boolean> {
  try {
    await writeFile(file, String(process.pid), { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

async function isAbandoned(file: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(file)).mtimeMs > ABANDONED_MS;
  } catch {
    // Released just now: the caller looks again.
    return false;
  }
}
