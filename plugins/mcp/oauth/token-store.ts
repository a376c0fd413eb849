import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { makeFolders, replaceFile } from "../../lib/files.ts";
import { sha256Hex } from "../../lib/hash.ts";

/** Identifies a login: a user at a server. */
export interface LoginKey {
  readonly url: string;
  readonly person: string;
}

const optionalString = v.optional(v.string());
const loginSchema = v.object({
  /** The server, for a reader of the file. */
  server: v.string(),
  person: v.string(),
  /** The issuer of the tokens; only it and the server are sent them. */
  issuer: v.string(),
  authorizationServer: v.pipe(v.string(), v.url()),
  /** Metadata of the issuer, unchanged. */
  metadata: v.optional(v.custom<JsonObject>(isJsonObject)),
  resource: optionalString,
  client: v.looseObject({ client_id: v.string(), client_secret: optionalString }),
  tokens: v.object({
    access_token: v.string(),
    token_type: v.string(),
    refresh_token: optionalString,
    scope: optionalString,
    expires_in: v.optional(v.number()),
  }),
  /** Expiry of the access token, in milliseconds since 1970. */
  expiresAt: v.optional(v.number()),
  /** Scope that the server asked for and this login does not cover; the next login will. */
  wantedScope: optionalString,
});

/** A login of a user at a server. */
export type Login = v.InferOutput<typeof loginSchema>;

/** The exclusive right to spend a refresh token. */
interface Claim {
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

/** Longer than any request for a new token takes: a process that has held a claim for this long has ended. */
const ABANDONED_MS = 40_000;
const MAX_CLAIMS = 8;

/** Creates a store in `<stateFolder>/oauth`, in files that only their owner can read. */
export function createTokenStore(stateFolder: string): TokenStore {
  const folder = join(stateFolder, "oauth");
  const toPath = ({ url, person }: LoginKey): string =>
    join(folder, `${sha256Hex(JSON.stringify([url, person]))}.json`);

  return {
    async read(key) {
      try {
        const parsed = v.safeParse(loginSchema, JSON.parse(await readFile(toPath(key), "utf8")));
        // A damaged file, or one of another version, counts as none: the user logs in again.
        return parsed.success ? parsed.output : undefined;
      } catch {
        return undefined;
      }
    },
    async write(key, login) {
      await makePrivateFolder();
      const bytes = Buffer.from(`${JSON.stringify(login, undefined, 2)}\n`);
      await replaceFile(toPath(key), { bytes, mode: 0o600 });
    },
    remove: (key) => rm(toPath(key), { force: true }),
    async claim(key, refreshToken) {
      await makePrivateFolder();
      const base = `${toPath(key)}.${sha256Hex(refreshToken).slice(0, 16)}`;
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
    await makeFolders(folder);
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
