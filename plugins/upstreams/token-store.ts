import { createHash, randomUUID } from "node:crypto";
import { chmod, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";

/** Whose login to which server. */
export interface LoginKey {
  readonly url: string;
  readonly person: string;
}

/** A login: what proves to a server that a person allowed us in. */
export interface Login {
  /** The server, for a person who looks into the file. */
  readonly server: string;
  readonly person: string;
  /** Who issued the tokens; they are never shown to anyone else but the server they are for. */
  readonly issuer: string;
  readonly authorizationServer: string;
  /** What the issuer says of itself, as it said it. */
  readonly metadata?: JsonObject | undefined;
  readonly resource?: string | undefined;
  readonly client: { readonly client_id: string; readonly client_secret?: string | undefined };
  readonly tokens: LoginTokens;
  /** When the access token ends, in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
  /** What the server asked for and this login does not cover; the next one will. */
  readonly wantedScope?: string | undefined;
}

/** Tokens, as OAuth names them. */
export interface LoginTokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  readonly expires_in?: number | undefined;
}

/** The right to spend a refresh token. */
export interface Claim {
  release(): Promise<void>;
}

/** Keeps logins, one file each, safe with several processes at work. */
export interface TokenStore {
  read(key: LoginKey): Promise<Login | undefined>;
  write(key: LoginKey, login: Login): Promise<void>;
  remove(key: LoginKey): Promise<void>;
  /** Takes the right to spend a refresh token, for one that is spent twice may end the login. Nothing if another process has it. */
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

/** Longer than any request for a new token takes: whoever has held a claim for this long is gone. */
const ABANDONED_MS = 40_000;
const MAX_CLAIMS = 8;

/** Logins in files that only their owner can read, in `<stateFolder>/oauth`. */
export function tokenStore(stateFolder: string): TokenStore {
  const folder = join(stateFolder, "oauth");
  const fileOf = ({ url, person }: LoginKey): string =>
    join(folder, `${digest(JSON.stringify([url, person]))}.json`);

  return {
    async read(key) {
      try {
        const parsed = v.safeParse(schema, JSON.parse(await readFile(fileOf(key), "utf8")));
        // One that was torn or written by another version is as good as none: a person logs in again.
        return parsed.success ? parsed.output : undefined;
      } catch {
        return undefined;
      }
    },
    async write(key, login) {
      const file = fileOf(key);
      await makeFolder();
      const temporary = `${file}.${randomUUID()}.tmp`;
      try {
        const handle = await open(temporary, "wx", 0o600);
        try {
          await handle.writeFile(`${JSON.stringify(login, undefined, 2)}\n`);
          await handle.sync();
        } finally {
          await handle.close();
        }
        await rename(temporary, file);
      } finally {
        await rm(temporary, { force: true });
      }
    },
    remove: (key) => rm(fileOf(key), { force: true }),
    async claim(key, refreshToken) {
      await makeFolder();
      const base = `${fileOf(key)}.${digest(refreshToken).slice(0, 16)}`;
      const files = Array.from({ length: MAX_CLAIMS }, (_, turn) => `${base}.${turn}.claim`);
      const release = async (): Promise<void> => {
        await Promise.all(files.map((file) => rm(file, { force: true })));
      };
      // A claim that was abandoned is not taken away, which two could do at once; the next number is taken.
      for (const file of files) {
        if (await create(file)) return { release };
        if (!(await isAbandoned(file))) return undefined;
      }
      await release();
      return undefined;
    },
  };

  async function makeFolder(): Promise<void> {
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
    // Released just now: whoever asks looks again.
    return false;
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
