import * as v from "valibot";

/** Where what proves who we are comes from: variables of the environment, by name. */
export interface Credential {
  /** How it is used; as the document says by default. */
  readonly type?: "bearer" | "basic" | "apiKey" | "oauth2" | "none";
  /** The security scheme of the document that it is for, where there are several. */
  readonly scheme?: string;
  /** The variable that holds the token, the key, or `user:password`. */
  readonly env?: string;
  readonly usernameEnv?: string;
  readonly passwordEnv?: string;
  /** Where an API key goes, if the document does not say. */
  readonly in?: "header" | "query" | "cookie";
  /** The name it has there. */
  readonly name?: string;
  /** Written before the value, such as `Token `. */
  readonly prefix?: string;
  /** For OAuth 2 with client credentials. */
  readonly clientIdEnv?: string;
  readonly clientSecretEnv?: string;
  readonly tokenUrl?: string;
  readonly scopes?: readonly string[];
  readonly audience?: string;
}

/** What is known of an adapter beyond its document. */
export interface Overlay {
  readonly name?: string;
  readonly description?: string;
  readonly category?: string;
  readonly capabilities?: readonly string[];
  readonly countries?: readonly string[];
  readonly currencies?: readonly string[];
  readonly documentation?: string;
  /** The variable that holds its credential. */
  readonly envVar?: string;
  /** The ids or names of the tools that most people need. */
  readonly commonOperations?: readonly string[];
  readonly errors?: readonly { readonly code: string; readonly meaning: string; readonly fix: string }[];
  readonly bestPractices?: readonly string[];
  readonly webhooks?: string;
  /** The header in which requests that change something take a key, where the document does not declare it. */
  readonly idempotencyHeader?: string;
}

/** One API. */
export interface AdapterOptions {
  /** A file, seen from the config file, or an address. */
  readonly document: string;
  readonly auth?: Credential | readonly Credential[];
  /** Where every request is sent, whatever the document says. */
  readonly server?: string;
  readonly serverVariables?: Readonly<Record<string, string>>;
  /** Sent with every request; `${NAME}` stands for a variable of the environment. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it may be at an address of this machine or of a private network. */
  readonly allowPrivate?: boolean;
  /** How long a request may take where no plugin times calls; 30,000 by default. */
  readonly timeoutMs?: number;
  /** How large an answer may be once unpacked; 10,000,000 by default. */
  readonly maxBytes?: number;
  readonly overlay?: Overlay;
}

/** The options of the plugin `openapi`. */
export interface OpenApiOptions {
  /** The APIs, each by its id in every tool id. */
  readonly adapters?: Readonly<Record<string, AdapterOptions>>;
  /** What is known of adapters by their id, before what the config says of them. */
  readonly overlays?: Readonly<Record<string, Overlay>>;
}

const text = v.pipe(v.string(), v.minLength(1, "a text that is not empty"));
const texts = v.array(text);
const variable = v.pipe(v.string(), v.regex(/^[A-Za-z_]\w*$/, "the name of a variable of the environment"));
const place = v.picklist(["header", "query", "cookie"]);

const credential = v.strictObject({
  type: v.optional(v.picklist(["bearer", "basic", "apiKey", "oauth2", "none"])),
  scheme: v.optional(text),
  env: v.optional(variable),
  usernameEnv: v.optional(variable),
  passwordEnv: v.optional(variable),
  in: v.optional(place),
  name: v.optional(text),
  prefix: v.optional(text),
  clientIdEnv: v.optional(variable),
  clientSecretEnv: v.optional(variable),
  tokenUrl: v.optional(text),
  scopes: v.optional(texts),
  audience: v.optional(text),
});

const overlay = v.strictObject({
  name: v.optional(text),
  description: v.optional(text),
  category: v.optional(text),
  capabilities: v.optional(texts),
  countries: v.optional(texts),
  currencies: v.optional(texts),
  documentation: v.optional(text),
  envVar: v.optional(variable),
  commonOperations: v.optional(texts),
  errors: v.optional(v.array(v.strictObject({ code: text, meaning: text, fix: text }))),
  bestPractices: v.optional(texts),
  webhooks: v.optional(text),
  idempotencyHeader: v.optional(
    v.pipe(v.string(), v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "the name of a header")),
  ),
});

const count = v.pipe(v.number(), v.integer(), v.minValue(1, "a whole number, 1 or more"));
const adapter = v.strictObject({
  document: text,
  auth: v.optional(v.union([credential, v.array(credential)])),
  server: v.optional(v.pipe(v.string(), v.regex(/^https?:\/\//i, "an address that begins with http"))),
  serverVariables: v.optional(v.record(v.string(), v.string())),
  headers: v.optional(v.record(v.string(), v.string())),
  allowPrivate: v.optional(v.boolean()),
  timeoutMs: v.optional(count),
  maxBytes: v.optional(count),
  overlay: v.optional(overlay),
});

const id = v.pipe(v.string(), v.regex(/^[a-z0-9-]+$/, "an id of small letters, digits and hyphens"));

/** Checks the options and holds their defaults. */
export const openapiOptions: v.GenericSchema<OpenApiOptions, Required<OpenApiOptions>> = v.strictObject({
  adapters: v.optional(v.record(id, adapter), {}),
  overlays: v.optional(v.record(id, overlay), {}),
}) as v.GenericSchema<OpenApiOptions, Required<OpenApiOptions>>;
