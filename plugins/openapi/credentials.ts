import { Buffer } from "node:buffer";
import { GatewayError } from "../../core/mod.ts";
import { MISSING_VARIABLE } from "../../core/services/servers.ts";
import type { Credential } from "./options.ts";
import type { Proof } from "./request.ts";
import type { Alternative, Scheme } from "./security.ts";

/** Requests a token with client credentials. */
export type FetchToken = (request: TokenRequest) => Promise<string>;

/** Arguments of a token request. */
export interface TokenRequest {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  readonly audience?: string | undefined;
}

/** Context of the credentials of a request. */
interface CredentialContext {
  readonly adapter: string;
  readonly credentials: readonly Credential[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent in a dry run, which needs no environment variables. */
  readonly fetchToken?: FetchToken | undefined;
}

/** Placeholder of a credential in a dry run. Plain characters only, as in the header that it stands for. */
export const HIDDEN_CREDENTIAL = "***";

/** Collects the credentials that a request needs, as far as they are configured. */
export async function collectProofs(
  security: readonly Alternative[] | undefined,
  context: CredentialContext,
): Promise<Proof[]> {
  const pairs = choosePairs(security, context.credentials);
  const proofs: Proof[] = [];
  for (const [scheme, credential] of pairs) proofs.push(await toProof(scheme, credential, context));
  return proofs;
}

/** Chooses the first alternative whose credentials are all configured; without alternatives, the configured ones. */
function choosePairs(
  security: readonly Alternative[] | undefined,
  credentials: readonly Credential[],
): (readonly [Scheme, Credential])[] {
  const usable = credentials.filter(({ type }) => type !== "none");
  if (security === undefined) {
    return usable.flatMap((credential) => {
      const scheme = toScheme(credential);
      return scheme ? [[scheme, credential] as const] : [];
    });
  }
  for (const alternative of security) {
    if (alternative.length === 0) continue;
    const pairs = alternative.map((scheme) => [scheme, findCredential(scheme, usable)] as const);
    if (pairs.every((pair): pair is readonly [Scheme, Credential] => pair[1] !== undefined)) return pairs;
  }
  return [];
}

function findCredential(scheme: Scheme, credentials: readonly Credential[]): Credential | undefined {
  const byName = credentials.find((credential) => credential.scheme === scheme.name);
  if (byName) return byName;
  return credentials.find(
    ({ scheme: name, type }) => name === undefined && (type === undefined || matchesScheme(type, scheme)),
  );
}

/** A bearer token is sent like an OAuth token. */
function matchesScheme(type: Credential["type"], scheme: Scheme): boolean {
  return type === scheme.type || (type === "bearer" && scheme.type === "oauth2");
}

/** Creates the scheme of a credential whose document declares none. */
function toScheme({ type, in: place, name, tokenUrl }: Credential): Scheme | undefined {
  if (type === undefined || type === "none") return undefined;
  const word = type === "basic" ? "Basic" : "Bearer";
  const plain = { name: type, type, in: "header", key: "Authorization", word, scopes: [] } as const;
  if (type === "apiKey") return { ...plain, in: place ?? "header", key: name ?? "X-API-Key", word: "" };
  return { ...plain, tokenUrl };
}

async function toProof(scheme: Scheme, credential: Credential, context: CredentialContext): Promise<Proof> {
  const type = credential.type ?? scheme.type;
  const prefix = credential.prefix ?? (scheme.word === "" ? "" : `${scheme.word} `);
  const place = {
    in: type === "apiKey" ? (credential.in ?? scheme.in) : ("header" as const),
    name: type === "apiKey" ? (credential.name ?? scheme.key) : "Authorization",
  };
  const preview = `${prefix}${HIDDEN_CREDENTIAL}`;
  if (!context.fetchToken) return { ...place, value: preview, preview };
  const value =
    type === "basic"
      ? toBasic(credential, context)
      : type === "oauth2" && credential.clientIdEnv !== undefined
        ? await context.fetchToken(toTokenRequest(scheme, credential, context))
        : readVariable(credential.env, context);
  return { ...place, value: `${prefix}${value}`, preview };
}

function toBasic(credential: Credential, context: CredentialContext): string {
  const { usernameEnv, passwordEnv, env } = credential;
  const pair =
    usernameEnv === undefined
      ? readVariable(env, context)
      : `${readVariable(usernameEnv, context)}:${passwordEnv === undefined ? "" : readVariable(passwordEnv, context)}`;
  return Buffer.from(pair.includes(":") ? pair : `${pair}:`).toString("base64");
}

function toTokenRequest(scheme: Scheme, credential: Credential, context: CredentialContext): TokenRequest {
  const tokenUrl = credential.tokenUrl ?? scheme.tokenUrl;
  if (tokenUrl === undefined || !/^https?:\/\//i.test(tokenUrl)) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `The document of "${context.adapter}" has no token URL. Set adapters.${context.adapter}.auth.tokenUrl.`,
      { data: { adapter: context.adapter, sent: false } },
    );
  }
  return {
    tokenUrl,
    clientId: readVariable(credential.clientIdEnv, context),
    clientSecret: readVariable(credential.clientSecretEnv, context),
    scopes: credential.scopes ?? scheme.scopes,
    audience: credential.audience,
  };
}

function readVariable(name: string | undefined, { adapter, env }: CredentialContext): string {
  const value = name === undefined || !Object.hasOwn(env, name) ? undefined : env[name];
  if (value !== undefined && value !== "") return value;
  if (name === undefined) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `adapters.${adapter}.auth names no variable that holds the credential. Set adapters.${adapter}.auth.env.`,
      { data: { adapter, sent: false } },
    );
  }
  throw new GatewayError(
    MISSING_VARIABLE,
    `"${adapter}" cannot be used: its environment variable ${name} is not set.`,
    { data: { adapter, variables: [name], sent: false } },
  );
}
