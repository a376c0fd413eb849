import * as v from "valibot";
import type { Overlay } from "../../core/services/adapters.ts";

/** Credential of an API, from environment variables. */
export interface Credential {
  /** Kind of credential; as the document says by default. */
  readonly type?: "bearer" | "basic" | "apiKey" | "oauth2" | "none";
  /** The security scheme of the document that it is for, where there are several. */
  readonly scheme?: string;
  /** The variable that holds the token, the key, or `user:password`. */
  readonly env?: string;
  readonly usernameEnv?: string;
  readonly passwordEnv?: string;
  /** Location of an API key, if the document does not say. */
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

/** One API. */
export interface AdapterOptions {
  /** URL, or path relative to the config file. */
  readonly document: string;
  readonly auth?: Credential | readonly Credential[];
  /** Server of all requests, in place of the one of the document. */
  readonly server?: string;
  readonly serverVariables?: Readonly<Record<string, string>>;
  /** Sent with every request; `${NAME}` stands for a variable of the environment. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it may be at an address of this machine or of a private network. */
  readonly allowPrivate?: boolean;
  /** Timeout of a request if no plugin limits calls; 30,000 by default. */
  readonly timeoutMs?: number;
  /** Largest response after decompression, in bytes; 10,000,000 by default. */
  readonly maxBytes?: number;
  readonly overlay?: Overlay;
}

/** The options of the plugin `openapi`. */
export interface OpenApiOptions {
  /** The APIs, each by its id in every tool id. */
  readonly adapters?: Readonly<Record<string, AdapterOptions>>;
  /** Facts about adapters by id; those of the config come first. */
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
