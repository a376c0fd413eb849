// Generated from the plugins' options: npx vitest run test/core/config-schema.test.ts -u

/** The name of a preset. */
export type PresetName = "anygpt" | "gateway" | "passthrough";

/** Options of the built-in plugins by plugin name. */
export interface BuiltinOptions {
  readonly answers?: {
    /** @default "parameters" */
    readonly details?: "parameters" | "signature" | "schema" | undefined;
    /** @default 105 */
    readonly detailTokens?: number | undefined;
    /** @default 200 */
    readonly searchTokens?: number | undefined;
    /** @default 2000 */
    readonly listTokens?: number | undefined;
    /** @default 3000 */
    readonly waitMs?: number | undefined;
    /** @default [] */
    readonly pinned?: readonly string[] | undefined;
    /** @default false */
    readonly structured?: boolean | undefined;
  };
  readonly audit?: {
    readonly sink?: string | {
      readonly type: string;
      readonly [name: string]: unknown;
    } | object | undefined;
    readonly file?: string | undefined;
    readonly folder?: string | undefined;
    /** @default 30 */
    readonly keepDays?: number | undefined;
    /** @default 100000000 */
    readonly maxBytes?: number | undefined;
  };
  readonly auth?: {
    readonly tokens?: readonly {
      readonly sha256: string;
      readonly actor: string;
      readonly scopes?: readonly string[] | undefined;
      readonly expires?: string | undefined;
    }[] | undefined;
    readonly jwt?: readonly {
      readonly issuer: string;
      readonly audience: string;
      readonly jwks: string;
      readonly algorithms?: readonly ("RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "Ed25519")[] | undefined;
      readonly clockSkewSeconds?: number | undefined;
      readonly actorClaim?: string | undefined;
      readonly actorPrefix?: string | undefined;
    }[] | undefined;
    readonly requiredScopes?: readonly string[] | undefined;
    readonly resource?: string | undefined;
    readonly authenticators?: readonly (string | object)[] | undefined;
  };
  readonly cache?: {
    /** @default true */
    readonly enabled?: boolean | undefined;
    /** @default 3600 */
    readonly ttl?: number | undefined;
    readonly folder?: string | undefined;
    readonly storage?: string | {
      readonly type: string;
      readonly [name: string]: unknown;
    } | object | undefined;
  };
  readonly dashboard?: {
    /** @default "admin" */
    readonly scope?: string | undefined;
    /** @default false */
    readonly decideWithoutTokens?: boolean | undefined;
    /** @default 1000 */
    readonly keep?: number | undefined;
  };
  readonly discovery?: {
    /** @default "lazy" */
    readonly mode?: "lazy" | "full" | undefined;
    /** @default "dot" */
    readonly toolNames?: "dot" | "hyphen" | "underscore" | undefined;
    /** @default 0.5 */
    readonly minConfidence?: number | undefined;
    /** @default 3 */
    readonly defaultLimit?: number | undefined;
    /** @default "intent" */
    readonly ranking?: "intent" | "search" | undefined;
    /** @default false */
    readonly debug?: boolean | undefined;
    /** @default 3000 */
    readonly waitMs?: number | undefined;
    /** @default {} */
    readonly overlays?: unknown;
  };
  readonly exposure?: {
    /** @default "meta" */
    readonly expose?: "meta" | "tools" | "both" | "auto" | undefined;
    /** @default {} */
    readonly hosts?: { readonly [name: string]: "meta" | "tools" | "both" } | undefined;
  };
  readonly guard?: {
    /** @default true */
    readonly enabled?: boolean | undefined;
    /** @default {} */
    readonly operations?: { readonly [name: string]: {
      readonly risk_level?: "low" | "medium" | "high" | "destructive" | undefined;
      readonly idempotency_required?: boolean | undefined;
      readonly confirmation_required?: boolean | undefined;
      readonly required_scopes?: readonly string[] | undefined;
      readonly rate_limit_bucket?: string | undefined;
      readonly reversible?: boolean | undefined;
      readonly category?: string | undefined;
      readonly retry_safe?: boolean | undefined;
    } } | undefined;
    /** @default [] */
    readonly trusted?: readonly string[] | undefined;
    /** @default {"local":["*"]} */
    readonly scopes?: { readonly [name: string]: readonly string[] } | undefined;
    /** @default "ask" */
    readonly confirmation?: "ask" | "flag" | "token" | undefined;
    /** @default 300000 */
    readonly confirmationMs?: number | undefined;
    /** @default 86400000 */
    readonly replayMs?: number | undefined;
    /** @default 600000 */
    readonly deadlineMs?: number | undefined;
    /** @default 262144 */
    readonly maxResultBytes?: number | undefined;
    /** @default false */
    readonly allowVolatile?: boolean | undefined;
    readonly clock?: unknown;
  };
  readonly health?: {
    readonly noticeMs?: number | undefined;
  };
  readonly logs?: {
    /** @default "info" */
    readonly level?: "debug" | "info" | "warn" | "error" | undefined;
    readonly write?: unknown;
  };
  readonly metrics?: {
    /** @default 2000 */
    readonly maxSeries?: number | undefined;
    /** @default false */
    readonly open?: boolean | undefined;
  };
  readonly openapi?: {
    /** @default {} */
    readonly adapters?: { readonly [name: string]: {
      readonly document: string;
      readonly auth?: {
        readonly type?: "bearer" | "basic" | "apiKey" | "oauth2" | "none" | undefined;
        readonly scheme?: string | undefined;
        readonly env?: string | undefined;
        readonly usernameEnv?: string | undefined;
        readonly passwordEnv?: string | undefined;
        readonly in?: "header" | "query" | "cookie" | undefined;
        readonly name?: string | undefined;
        readonly prefix?: string | undefined;
        readonly clientIdEnv?: string | undefined;
        readonly clientSecretEnv?: string | undefined;
        readonly tokenUrl?: string | undefined;
        readonly scopes?: readonly string[] | undefined;
        readonly audience?: string | undefined;
      } | readonly {
        readonly type?: "bearer" | "basic" | "apiKey" | "oauth2" | "none" | undefined;
        readonly scheme?: string | undefined;
        readonly env?: string | undefined;
        readonly usernameEnv?: string | undefined;
        readonly passwordEnv?: string | undefined;
        readonly in?: "header" | "query" | "cookie" | undefined;
        readonly name?: string | undefined;
        readonly prefix?: string | undefined;
        readonly clientIdEnv?: string | undefined;
        readonly clientSecretEnv?: string | undefined;
        readonly tokenUrl?: string | undefined;
        readonly scopes?: readonly string[] | undefined;
        readonly audience?: string | undefined;
      }[] | undefined;
      readonly server?: string | undefined;
      readonly serverVariables?: { readonly [name: string]: string } | undefined;
      readonly headers?: { readonly [name: string]: string } | undefined;
      readonly allowPrivate?: boolean | undefined;
      readonly timeoutMs?: number | undefined;
      readonly maxBytes?: number | undefined;
      readonly overlay?: {
        readonly name?: string | undefined;
        readonly description?: string | undefined;
        readonly category?: string | undefined;
        readonly capabilities?: readonly string[] | undefined;
        readonly countries?: readonly string[] | undefined;
        readonly currencies?: readonly string[] | undefined;
        readonly documentation?: string | undefined;
        readonly envVar?: string | undefined;
        readonly commonOperations?: readonly string[] | undefined;
        readonly errors?: readonly {
          readonly code: string;
          readonly meaning: string;
          readonly fix: string;
        }[] | undefined;
        readonly bestPractices?: readonly string[] | undefined;
        readonly webhooks?: string | undefined;
        readonly idempotencyHeader?: string | undefined;
      } | undefined;
    } } | undefined;
    /** @default {} */
    readonly overlays?: { readonly [name: string]: {
      readonly name?: string | undefined;
      readonly description?: string | undefined;
      readonly category?: string | undefined;
      readonly capabilities?: readonly string[] | undefined;
      readonly countries?: readonly string[] | undefined;
      readonly currencies?: readonly string[] | undefined;
      readonly documentation?: string | undefined;
      readonly envVar?: string | undefined;
      readonly commonOperations?: readonly string[] | undefined;
      readonly errors?: readonly {
        readonly code: string;
        readonly meaning: string;
        readonly fix: string;
      }[] | undefined;
      readonly bestPractices?: readonly string[] | undefined;
      readonly webhooks?: string | undefined;
      readonly idempotencyHeader?: string | undefined;
    } } | undefined;
  };
  readonly overload?: {
    /** @default 256 */
    readonly maxConcurrent?: number | undefined;
    /** @default 1024 */
    readonly maxWaiting?: number | undefined;
    /** @default 128 */
    readonly maxWaitingEach?: number | undefined;
    /** @default 200 */
    readonly maxLagMs?: number | undefined;
    /** @default false */
    readonly local?: boolean | undefined;
  };
  readonly pins?: {
    readonly firstUse?: "trust" | "ask" | "off" | undefined;
  };
  readonly rates?: {
    /** @default {"*_high_risk":{"limit":100,"perMs":60000},"*_destructive_risk":{"limit":100,"perMs":60000}} */
    readonly limits?: { readonly [name: string]: {
      readonly limit: number;
      readonly perMs: number;
      readonly burst?: number | undefined;
    } } | undefined;
    /** @default false */
    readonly shared?: boolean | undefined;
    readonly limiter?: unknown;
  };
  readonly registries?: {
    readonly urls?: readonly string[] | undefined;
  };
  readonly registry?: {
    readonly path?: string | undefined;
    /** @default true */
    readonly write?: boolean | undefined;
    /** @default "refuse" */
    readonly onFailure?: "refuse" | "degrade" | undefined;
    /** @default 10000 */
    readonly waitMs?: number | undefined;
  };
  readonly relay?: {
    /** @default true */
    readonly resources?: boolean | undefined;
    /** @default true */
    readonly prompts?: boolean | undefined;
  };
  readonly replicas?: {
    /** @default true */
    readonly enabled?: boolean | undefined;
    readonly address?: string | undefined;
  };
  readonly results?: {
    /**
     * Bytes of text that an agent is shown at once. Hosts limit the answer of a tool to about 25,000 tokens, and even text that is hard on a tokenizer (digits, base64) has two bytes to a token.
     * @default 50000
     */
    readonly maxBytes?: number | undefined;
    /**
     * Characters of images, audio and other base64 that an agent is shown at once. A model does not read them as text, but some hosts limit the whole message to 1 MB.
     * @default 1000000
     */
    readonly maxMediaBytes?: number | undefined;
    /**
     * Milliseconds for which the parts that were not shown can be read, from the last reading on.
     * @default 3600000
     */
    readonly keepMs?: number | undefined;
    /**
     * Bytes that are kept at most; the oldest results go first.
     * @default 50000000
     */
    readonly maxKeptBytes?: number | undefined;
    /**
     * Milliseconds after which a call is answered with a link to its result; 0 means never. Most clients give up after 60 seconds. Only a call that was allowed more than the default time limit, or reports progress, takes this long.
     * @default 50000
     */
    readonly waitMs?: number | undefined;
    /**
     * Calls that may go on at once after their clients were answered with a link; others are waited for.
     * @default 32
     */
    readonly maxRunning?: number | undefined;
  };
  readonly retry?: {
    /** @default 1 */
    readonly retries?: number | undefined;
    /** @default 100 */
    readonly baseMs?: number | undefined;
    /** @default 2000 */
    readonly maxMs?: number | undefined;
    /** @default 0.2 */
    readonly share?: number | undefined;
    /** @default 5 */
    readonly failures?: number | undefined;
    /** @default 30000 */
    readonly openMs?: number | undefined;
    readonly now?: unknown;
  };
  readonly rules?: {
    /** @default [] */
    readonly toolRules?: readonly {
      readonly pattern: readonly string[];
      readonly server?: string | undefined;
      readonly enabled?: boolean | undefined;
      readonly tags?: readonly string[] | undefined;
    }[] | undefined;
  };
  readonly search?: {
    readonly ranker?: "fusion" | "embedding" | "keyword" | "tag" | "simple" | string | {
      readonly type: string;
      readonly [name: string]: unknown;
    } | object | undefined;
    readonly fusion?: {
      readonly weights?: {
        readonly keyword?: number | undefined;
        readonly embedding?: number | undefined;
        readonly tag?: number | undefined;
      } | undefined;
      readonly gate?: number | undefined;
      readonly clauses?: boolean | undefined;
    } | undefined;
    readonly embedding?: {
      readonly embedder?: "static" | {
        readonly type: "openai";
        readonly url?: string | undefined;
        readonly model: string;
        readonly apiKeyEnv?: string | undefined;
        readonly dimensions?: number | undefined;
        readonly queryPrefix?: string | undefined;
        readonly toolPrefix?: string | undefined;
        readonly timeoutMs?: number | undefined;
      } | {
        readonly type: "transformers";
        readonly model: string;
        readonly queryPrefix?: string | undefined;
        readonly toolPrefix?: string | undefined;
      } | (string & Record<never, never>) | {
        readonly type: string;
        readonly [name: string]: unknown;
      } | object | undefined;
    } | undefined;
    readonly keyword?: {
      readonly weights?: {
        readonly name?: number | undefined;
        readonly server?: number | undefined;
        readonly title?: number | undefined;
        readonly summary?: number | undefined;
        readonly description?: number | undefined;
        readonly parameters?: number | undefined;
        readonly parameterDescriptions?: number | undefined;
        readonly tags?: number | undefined;
      } | undefined;
      readonly lengths?: {
        readonly name?: number | undefined;
        readonly server?: number | undefined;
        readonly title?: number | undefined;
        readonly summary?: number | undefined;
        readonly description?: number | undefined;
        readonly parameters?: number | undefined;
        readonly parameterDescriptions?: number | undefined;
        readonly tags?: number | undefined;
      } | undefined;
      readonly k1?: number | undefined;
      readonly nameCoverage?: number | undefined;
      readonly queryCoverage?: number | undefined;
      readonly serverCoverage?: number | undefined;
      readonly synonyms?: number | undefined;
    } | undefined;
  };
  readonly "server-discovery"?: {
    readonly rateLimits?: { readonly [name: string]: {
      /** @default 10 */
      readonly requestsPerSecond?: number | undefined;
      /** @default 20 */
      readonly burstSize?: number | undefined;
    } } | undefined;
    /** @default false */
    readonly warm?: boolean | undefined;
    /** @default false */
    readonly allowPrivate?: boolean | undefined;
  };
  readonly sources?: {
    /** @default [] */
    readonly clients?: "all" | readonly ("claude-desktop" | "claude-code" | "codex" | "gemini-cli" | "copilot" | "opencode" | "goose" | "amp" | "crush" | "kimi" | "mistral-vibe" | "cursor" | "vscode" | "windsurf" | "devin" | "zed" | "antigravity" | "cline" | "roo" | "continue" | "lm-studio" | "kiro" | "trae" | "junie" | "jetbrains-air" | "docker-mcp")[] | undefined;
    /** @default [] */
    readonly sources?: readonly {
      readonly type: "claude-desktop" | "claude-code" | "codex" | "gemini-cli" | "copilot" | "opencode" | "goose" | "amp" | "crush" | "kimi" | "mistral-vibe" | "cursor" | "vscode" | "windsurf" | "devin" | "zed" | "antigravity" | "cline" | "roo" | "continue" | "lm-studio" | "kiro" | "trae" | "junie" | "jetbrains-air" | "docker-mcp" | "custom" | "server-json" | (string & Record<never, never>);
      readonly path?: string | undefined;
    }[] | undefined;
    /** @default [] */
    readonly servers?: readonly {
      readonly name: string;
      readonly [name: string]: unknown;
    }[] | undefined;
    /** @default {} */
    readonly mcpServers?: { readonly [name: string]: {
      readonly [name: string]: unknown;
    } } | undefined;
    readonly machine?: unknown;
  };
  readonly state?: {
    readonly folder?: string | undefined;
    readonly state?: string | undefined;
    readonly timeoutMs?: number | undefined;
    readonly store?: string | {
      readonly type: string;
      readonly [name: string]: unknown;
    } | object | undefined;
  };
  readonly telemetry?: {
    /** @default true */
    readonly baggage?: boolean | undefined;
    readonly api?: unknown;
  };
  readonly timeout?: {
    /** @default 30000 */
    readonly ms?: number | undefined;
    /** @default {} */
    readonly servers?: { readonly [name: string]: number } | undefined;
    /** @default {} */
    readonly tools?: { readonly [name: string]: number } | undefined;
    /** @default true */
    readonly extendOnProgress?: boolean | undefined;
    /** @default 300000 */
    readonly maxMs?: number | undefined;
  };
  readonly trace?: {
    readonly write?: unknown;
  };
  readonly upstreams?: {
    /** @default false */
    readonly useCache?: boolean | undefined;
    /** @default "stale" */
    readonly discover?: "stale" | "missing" | "none" | undefined;
    /** @default 300000 */
    readonly idleMs?: number | undefined;
    /** @default 16 */
    readonly concurrency?: number | undefined;
    /** @default 5 */
    readonly maxParallelDiscoveries?: number | undefined;
  };
}

/** Options that stand at the top of a config. Each belongs to a plugin. */
export interface BuiltinKeys {
  /** Options of the plugin `audit`. */
  readonly audit?: BuiltinOptions["audit"];
  /** Options of the plugin `auth`. */
  readonly auth?: BuiltinOptions["auth"];
  /** Options of the plugin `cache`. */
  readonly cache?: BuiltinOptions["cache"];
  /** Options of the plugin `discovery`. */
  readonly discovery?: BuiltinOptions["discovery"];
  /** @default "meta" */
  readonly expose?: NonNullable<BuiltinOptions["exposure"]>["expose"];
  /** Options of the plugin `guard`. */
  readonly guard?: BuiltinOptions["guard"];
  /** @default {} */
  readonly adapters?: NonNullable<BuiltinOptions["openapi"]>["adapters"];
  /** Options of the plugin `overload`. */
  readonly overload?: BuiltinOptions["overload"];
  /** Options of the plugin `pins`. */
  readonly pins?: BuiltinOptions["pins"];
  /** Options of the plugin `registry`. */
  readonly registry?: BuiltinOptions["registry"];
  /** Options of the plugin `replicas`. */
  readonly replicas?: BuiltinOptions["replicas"];
  /** @default [] */
  readonly toolRules?: NonNullable<BuiltinOptions["rules"]>["toolRules"];
  /** Options of the plugin `search`. */
  readonly search?: BuiltinOptions["search"];
  /** @default [] */
  readonly servers?: NonNullable<BuiltinOptions["sources"]>["servers"];
  /** @default {} */
  readonly mcpServers?: NonNullable<BuiltinOptions["sources"]>["mcpServers"];
  /** Options of the plugin `sources`. */
  readonly sources?: BuiltinOptions["sources"] | NonNullable<BuiltinOptions["sources"]>["sources"];
  /** Options of the plugin `state`. */
  readonly state?: BuiltinOptions["state"] | NonNullable<BuiltinOptions["state"]>["state"];
}
