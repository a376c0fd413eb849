import { Buffer } from "node:buffer";
import { GatewayError } from "../../core/mod.ts";
import { MISSING_VARIABLE } from "../../core/services/servers.ts";
import type { Credential } from "./options.ts";
import type { Proof } from "./request.ts";
import type { Alternative, Scheme } from "./security.ts";

/** Asks for a token with the credentials of a client. */
export type AskToken = (request: TokenRequest) => Promise<string>;

/** Arguments of a token request. */
export interface TokenRequest {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  readonly audience?: string | undefined;
}

/** Context of the credentials of a request. */
export interface CredentialContext {
  readonly adapter: string;
  readonly credentials: readonly Credential[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent where nothing is sent: then no variable needs to be set either. */
  readonly askToken?: AskToken | undefined;
}

/** Placeholder of a credential in a dry run. Plain characters only, as in the header that it stands for. */
export const HIDDEN_CREDENTIAL = "***";

/** Collects the credentials that a request needs, as far as they are configured. */
export async function collectProofs(
  security: readonly Alternative[] | undefined,
  context: CredentialContext,
): Promise<Proof[]> {
  const pairs = chosenPairs(security, context.credentials);
  const proofs: Proof[] = [];
  for (const [scheme, credential] of pairs) proofs.push(await toProof(scheme, credential, context));
  return proofs;
}

/** The first way for which there is every credential. Where the document says nothing, what the config says is used. */
function chosenPairs(
  security: readonly Alternative[] | undefined,
  credentials: readonly Credential[],
): (readonly [Scheme, Credential])[] {
  const usable = credentials.filter(({ type }) => type !== "none");
  if (security === undefined) {
    return usable.flatMap((credential) => {
      const scheme = findScheme(credential);
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
    ({ scheme: name, type }) => name === undefined && (type === undefined || fits(type, scheme)),
  );
}

/** Sends a token in the same way, whatever its origin. */
function fits(type: Credential["type"], scheme: Scheme): boolean {
  return type === scheme.type || (type === "bearer" && scheme.type === "oauth2");
}

/** The scheme that a credential describes by itself. */
function findScheme({ type, in: place, name, tokenUrl }: Credential): Scheme | undefined {
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
  const shown = `${prefix}${HIDDEN_CREDENTIAL}`;
  if (!context.askToken) return { ...place, value: shown, shown };
  const value =
    type === "basic"
      ? toBasic(credential, context)
      : type === "oauth2" && credential.clientIdEnv !== undefined
        ? await context.askToken(tokenRequest(scheme, credential, context))
        : read(credential.env, context);
  return { ...place, value: `${prefix}${value}`, shown };
}

function toBasic(credential: Credential, context: CredentialContext): string {
  const { usernameEnv, passwordEnv, env } = credential;
  const pair =
    usernameEnv === undefined
      ? read(env, context)
      : `${read(usernameEnv, context)}:${passwordEnv === undefined ? "" : read(passwordEnv, context)}`;
  return Buffer.from(pair.includes(":") ? pair : `${pair}:`).toString("base64");
}

function tokenRequest(scheme: Scheme, credential: Credential, context: CredentialContext): TokenRequest {
  const tokenUrl = credential.tokenUrl ?? scheme.tokenUrl;
  if (tokenUrl === undefined || !/^https?:\/\//i.test(tokenUrl)) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `The document does not say where "${context.adapter}" issues tokens. Set adapters.${context.adapter}.auth.tokenUrl.`,
      { data: { adapter: context.adapter, sent: false } },
    );
  }
  return {
    tokenUrl,
    clientId: read(credential.clientIdEnv, context),
    clientSecret: read(credential.clientSecretEnv, context),
    scopes: credential.scopes ?? scheme.scopes,
    audience: credential.audience,
  };
}

function read(name: string | undefined, { adapter, env }: CredentialContext): string {
  const value = name === undefined || !Object.hasOwn(env, name) ? undefined : env[name];
  if (value !== undefined && value !== "") return value;
  if (name === undefined) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `adapters.${adapter}.auth does not say which variable holds the credential.`,
      { data: { adapter, sent: false } },
    );
  }
  throw new GatewayError(
    MISSING_VARIABLE,
    `"${adapter}" cannot be used: it needs ${name}, which is not set.`,
    { data: { adapter, variables: [name], sent: false } },
  );
}
