// Generated from the plugins' options: npx vitest run test/core/config-schema.test.ts -u

/** The name of a preset. */
export type PresetName = "anygpt" | "gateway" | "passthrough";

/** Options of the built-in plugins by plugin name. */
export interface BuiltinOptions {
  readonly answers?: {
    /**
     * How `get_tool_details` describes parameters: one by one, as one line of TypeScript, or as JSON Schema.
     * @default "parameters"
     */
    readonly details?: "parameters" | "signature" | "schema" | undefined;
    /**
     * Tokens of tool details above which descriptions are shortened.
     * @default 100
     */
    readonly detailTokens?: number | undefined;
    /**
     * Maximal tokens of a search result where the search has no limit.
     * @default 200
     */
    readonly searchTokens?: number | undefined;
    /**
     * Tokens of a list of servers or tools above which descriptions are shortened.
     * @default 2000
     */
    readonly listTokens?: number | undefined;
    /**
     * Milliseconds that a search waits for servers that are asked for their tools for the first time, and a list of tools for a server whose cached listing is too old.
     * @default 3000
     */
    readonly waitMs?: number | undefined;
    /**
     * Tools, as `server:tool`, that are listed beside the five meta-tools.
     * @default []
     */
    readonly pinned?: readonly string[] | undefined;
    /**
     * Whether `execute_tool` wraps what a tool returns: `{ success, result }`, or `{ success: false, error }`. Images and other content stay beside it.
     * @default false
     */
    readonly envelope?: boolean | undefined;
    /**
     * Whether answers are also structured content, with an output schema. Many hosts show a model both.
     * @default false
     */
    readonly structured?: boolean | undefined;
  };
  readonly audit?: {
    /** `memory`, or the path of a module that exports a sink, alone or as `{ type, ...options }`. Without it, records go to `file` or `folder`. */
    readonly sink?: string | {
      /** Name of a driver, or the path of a module that exports one. */
      readonly type: string;
      readonly [name: string]: unknown;
    } | object | undefined;
    /** File with one JSON record a line, if there is no `sink`. */
    readonly file?: string | undefined;
    /** Folder with one such file for each process, if there is neither `sink` nor `file`. Without it, `audit` in the state folder. */
    readonly folder?: string | undefined;
    /**
     * Days after its last record until a file of the folder is removed. Files are removed when a process begins to record.
     * @default 30
     */
    readonly keepDays?: number | undefined;
    /**
     * Bytes of all files of the folder together, above which the oldest files are removed.
     * @default 100000000
     */
    readonly maxBytes?: number | undefined;
    /** File that gets one JSON line whenever the number and hash of the last record are kept in the state, at most once a second: on a disk or a mount where this user can add lines but not change them, it shows also what that user has cut, removed or rewritten. */
    readonly anchor?: string | undefined;
  };
  readonly auth?: {
    /** Accepted tokens by their hashes; `toolpipe token` makes one. */
    readonly tokens?: readonly {
      /** SHA-256 of the token, as `toolpipe token` prints it. */
      readonly sha256: string;
      /** Name of the caller who has the token. */
      readonly actor: string;
      /** Scopes of the caller. */
      readonly scopes?: readonly string[] | undefined;
      /** Time after which the token is refused, such as 2027-01-31T00:00:00Z. */
      readonly expires?: string | undefined;
    }[] | undefined;
    /** Issuers whose tokens are accepted. */
    readonly jwt?: readonly {
      /** `iss` that a token must have. */
      readonly issuer: string;
      /** `aud` that a token must have, usually the URL of this gateway. Tokens for other services are refused. */
      readonly audience: string;
      /** URL of the keys of the issuer (JWKS). */
      readonly jwks: string;
      /** Accepted signature algorithms. Without this option, all asymmetric ones. */
      readonly algorithms?: readonly ("RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "Ed25519")[] | undefined;
      /**
       * Accepted clock skew in seconds.
       * @default 30
       */
      readonly clockSkewSeconds?: number | undefined;
      /**
       * Claim that names the caller.
       * @default "sub"
       */
      readonly actorClaim?: string | undefined;
      /**
       * Prefix of the name of the caller, so that callers of two issuers have different names.
       * @default ""
       */
      readonly actorPrefix?: string | undefined;
    }[] | undefined;
    /** Scopes that every caller needs. */
    readonly requiredScopes?: readonly string[] | undefined;
    /** URL by which clients know this gateway, if it is not the one that it is served at. */
    readonly resource?: string | undefined;
    /** Authenticators for other kinds of tokens: names of registered ones, or paths of modules that export one. */
    readonly authenticators?: readonly (string | object)[] | undefined;
  };
  readonly cache?: {
    /**
     * Whether anything is cached.
     * @default true
     */
    readonly enabled?: boolean | undefined;
    /**
     * Seconds for which lists of servers and tools are fresh.
     * @default 3600
     */
    readonly ttl?: number | undefined;
    /** Folder of the files. Without it, the one in `CCOS_MCP_CACHE_DIR`, the Redis of the state, or the user's cache folder. */
    readonly folder?: string | undefined;
    /** Storage in place of files: `files`, `memory`, `redis`, a driver of unstorage by name, or the path of a module that exports one, alone or as `{ type, ...options }`. */
    readonly storage?: string | {
      /** Name of a driver, or the path of a module that exports one. */
      readonly type: string;
      readonly [name: string]: unknown;
    } | object | undefined;
  };
  readonly dashboard?: {
    /**
     * Scope that a caller needs if authentication is configured.
     * @default "admin"
     */
    readonly scope?: string | undefined;
    /**
     * Whether approvals can be decided on the page without authentication. Everyone who reaches the port can then decide, including an agent through one of its tools.
     * @default false
     */
    readonly decideWithoutTokens?: boolean | undefined;
    /**
     * Number of finished calls kept in memory.
     * @default 1000
     */
    readonly keep?: number | undefined;
  };
  readonly discovery?: {
    /**
     * Whether an agent sees the five tools (`lazy`) or every operation (`full`, for debugging). `MCP_TOOL_MODE` overrides it.
     * @default "lazy"
     */
    readonly mode?: "lazy" | "full" | undefined;
    /**
     * Separator in the names of the five tools, as in `gateway.intent`: some clients take no dots. All three are understood.
     * @default "dot"
     */
    readonly toolNames?: "dot" | "hyphen" | "underscore" | undefined;
    /**
     * Confidence below which nothing is recommended and the agent is asked to choose. `MCP_SEARCH_MIN_CONFIDENCE` overrides it.
     * @default 0.5
     */
    readonly minConfidence?: number | undefined;
    /**
     * Number of alternatives. `MCP_DEFAULT_LIMIT` overrides it.
     * @default 3
     */
    readonly defaultLimit?: number | undefined;
    /**
     * How a task is matched: by names, tags and words alone, or by the plugin `search`.
     * @default "intent"
     */
    readonly ranking?: "intent" | "search" | undefined;
    /**
     * Whether a tool_id that is not registered is tried all the same.
     * @default false
     */
    readonly debug?: boolean | undefined;
    /**
     * Milliseconds that the first search waits for servers that were never asked for their tools.
     * @default 3000
     */
    readonly waitMs?: number | undefined;
    /**
     * Facts about adapters, MCP servers among them, by adapter id.
     * @default {}
     */
    readonly overlays?: { readonly [name: string]: {
      /** Name of the API. */
      readonly name?: string | undefined;
      /** Hosts of the API. An adapter of another id, whose document names one of them as its server or has the name as its title, gets these facts too, except for `envVar` and `idempotencyHeader`. */
      readonly hosts?: readonly string[] | undefined;
      /** Description of the API. */
      readonly description?: string | undefined;
      /** Category of the API. */
      readonly category?: string | undefined;
      /** Capabilities of the API. */
      readonly capabilities?: readonly string[] | undefined;
      /** Countries that the API covers. */
      readonly countries?: readonly string[] | undefined;
      /** Currencies that the API supports. */
      readonly currencies?: readonly string[] | undefined;
      /** URL of the documentation. */
      readonly documentation?: string | undefined;
      /** The environment variable that holds the credential. */
      readonly envVar?: string | undefined;
      /** Ids or names of the tools that most users need. */
      readonly commonOperations?: readonly string[] | undefined;
      /** Known errors of the API. */
      readonly errors?: readonly {
        /** Error code of the API. */
        readonly code: string;
        /** Meaning of the error. */
        readonly meaning: string;
        /** How to fix the error. */
        readonly fix: string;
      }[] | undefined;
      /** Advice for calling the API. */
      readonly bestPractices?: readonly string[] | undefined;
      /** Description of the webhooks of the API. */
      readonly webhooks?: string | undefined;
      /** The header in which requests that change something take an idempotency key, if the document declares none. */
      readonly idempotencyHeader?: string | undefined;
    } } | undefined;
  };
  readonly exposure?: {
    /**
     * Tools that clients see: those of the gateway (`meta`), those of the servers (`tools`), `both`, or what suits each client by its name (`auto`).
     * @default "meta"
     */
    readonly expose?: "meta" | "tools" | "both" | "auto" | undefined;
    /**
     * Exposure by client name where `expose` is `auto`. It goes before the built-in table of clients.
     * @default {}
     */
    readonly hosts?: { readonly [name: string]: "meta" | "tools" | "both" } | undefined;
  };
  readonly guard?: {
    /**
     * Whether the guard is on.
     * @default true
     */
    readonly enabled?: boolean | undefined;
    /**
     * Policies of operations by id or pattern of ids, over the inferred ones. The last match counts.
     * @default {}
     */
    readonly operations?: { readonly [name: string]: {
      /** Harm that the operation can do. */
      readonly risk_level?: "low" | "medium" | "high" | "destructive" | undefined;
      /** Whether a call needs an idempotency key. */
      readonly idempotency_required?: boolean | undefined;
      /** Whether a call needs a confirmation of the user. */
      readonly confirmation_required?: boolean | undefined;
      /** Scopes that the caller needs. */
      readonly required_scopes?: readonly string[] | undefined;
      /** Name of the rate limit that calls count against. */
      readonly rate_limit_bucket?: string | undefined;
      /** Whether the effect of a call can be undone. */
      readonly reversible?: boolean | undefined;
      /** Category, which the default scope and rate limit are named after. */
      readonly category?: string | undefined;
      /** Whether a call with an unknown outcome may be made again. */
      readonly retry_safe?: boolean | undefined;
    } } | undefined;
    /**
     * Servers whose annotations are believed.
     * @default []
     */
    readonly trusted?: readonly string[] | undefined;
    /**
     * Additional scopes by actor; `*` as an actor stands for every actor, as a scope for every scope.
     * @default {"local":["*"]}
     */
    readonly scopes?: { readonly [name: string]: readonly string[] } | undefined;
    /**
     * Accepted confirmations. `ask`: the user's answer if the client can ask, else `confirmed: true` of the caller. `flag`: `confirmed: true`; without it, the user is asked. `token`: the user's answer, or a token issued for this call.
     * @default "ask"
     */
    readonly confirmation?: "ask" | "flag" | "token" | undefined;
    /**
     * Milliseconds for which a confirmation token is valid.
     * @default 300000
     */
    readonly confirmationMs?: number | undefined;
    /**
     * Milliseconds for which a completed call is replayed.
     * @default 86400000
     */
    readonly replayMs?: number | undefined;
    /**
     * Milliseconds after which a call without an outcome counts as lost.
     * @default 600000
     */
    readonly deadlineMs?: number | undefined;
    /**
     * Bytes of the largest result that is stored for a replay; of a larger one only its hash is.
     * @default 262144
     */
    readonly maxResultBytes?: number | undefined;
    /**
     * Whether high-risk calls may rely on state that is lost with the process.
     * @default false
     */
    readonly allowVolatile?: boolean | undefined;
    /** Clock for tests. */
    readonly clock?: unknown;
  };
  readonly health?: {
    /** Milliseconds for which a closing gateway takes requests while `/readyz` reports that it is not ready. By default as long as the readiness probes need to notice: three of their intervals and a second, at most 15 seconds; 0 without probes. */
    readonly noticeMs?: number | undefined;
  };
  readonly logs?: {
    /**
     * The lowest level that is written.
     * @default "info"
     */
    readonly level?: "debug" | "info" | "warn" | "error" | undefined;
    /** Writes a line, which has no line break at its end. By default it is written to standard error, because standard output may carry the protocol. */
    readonly write?: unknown;
  };
  readonly metrics?: {
    /**
     * Series per metric family; further ones are counted as `other`.
     * @default 2000
     */
    readonly maxSeries?: number | undefined;
    /**
     * Whether `/metrics` can be read without authentication.
     * @default false
     */
    readonly open?: boolean | undefined;
  };
  readonly openapi?: {
    /**
     * REST APIs by id, which is the server in every tool id.
     * @default {}
     */
    readonly adapters?: { readonly [name: string]: {
      /** URL of the document, or its path relative to the config file. */
      readonly document: string;
      /** Credentials of the API, from environment variables. */
      readonly auth?: {
        /** Kind of credential. By default the one of the document. */
        readonly type?: "bearer" | "basic" | "apiKey" | "oauth2" | "none" | undefined;
        /** The security scheme of the document that the credential is for. */
        readonly scheme?: string | undefined;
        /** The environment variable that holds the token, the key, or `user:password`. */
        readonly env?: string | undefined;
        /** The environment variable that holds the user name. */
        readonly usernameEnv?: string | undefined;
        /** The environment variable that holds the password. */
        readonly passwordEnv?: string | undefined;
        /** Location of an API key, if the document has none. */
        readonly in?: "header" | "query" | "cookie" | undefined;
        /** Name of the header, query parameter or cookie of an API key. */
        readonly name?: string | undefined;
        /** Prefix of the value, such as `Token `. */
        readonly prefix?: string | undefined;
        /** The environment variable that holds the OAuth client id. */
        readonly clientIdEnv?: string | undefined;
        /** The environment variable that holds the OAuth client secret. */
        readonly clientSecretEnv?: string | undefined;
        /** URL that issues OAuth tokens, if the document has none. */
        readonly tokenUrl?: string | undefined;
        /** OAuth scopes to ask for. By default those of the document. */
        readonly scopes?: readonly string[] | undefined;
        /** OAuth audience to ask for. */
        readonly audience?: string | undefined;
      } | readonly {
        /** Kind of credential. By default the one of the document. */
        readonly type?: "bearer" | "basic" | "apiKey" | "oauth2" | "none" | undefined;
        /** The security scheme of the document that the credential is for. */
        readonly scheme?: string | undefined;
        /** The environment variable that holds the token, the key, or `user:password`. */
        readonly env?: string | undefined;
        /** The environment variable that holds the user name. */
        readonly usernameEnv?: string | undefined;
        /** The environment variable that holds the password. */
        readonly passwordEnv?: string | undefined;
        /** Location of an API key, if the document has none. */
        readonly in?: "header" | "query" | "cookie" | undefined;
        /** Name of the header, query parameter or cookie of an API key. */
        readonly name?: string | undefined;
        /** Prefix of the value, such as `Token `. */
        readonly prefix?: string | undefined;
        /** The environment variable that holds the OAuth client id. */
        readonly clientIdEnv?: string | undefined;
        /** The environment variable that holds the OAuth client secret. */
        readonly clientSecretEnv?: string | undefined;
        /** URL that issues OAuth tokens, if the document has none. */
        readonly tokenUrl?: string | undefined;
        /** OAuth scopes to ask for. By default those of the document. */
        readonly scopes?: readonly string[] | undefined;
        /** OAuth audience to ask for. */
        readonly audience?: string | undefined;
      }[] | undefined;
      /** Server of all requests, in place of the one of the document. */
      readonly server?: string | undefined;
      /** Origins that requests and credentials may be sent to, such as `https://api.example.com`. By default those that the document named when it was first used. */
      readonly origins?: readonly string[] | undefined;
      /** Values of the variables in the URL of the server. */
      readonly serverVariables?: { readonly [name: string]: string } | undefined;
      /** Headers of every request; `${NAME}` stands for an environment variable. */
      readonly headers?: { readonly [name: string]: string } | undefined;
      /** Whether the API may have an address of this machine or of a private network. */
      readonly allowPrivate?: boolean | undefined;
      /**
       * Timeout of a request in milliseconds, if no plugin limits calls.
       * @default 30000
       */
      readonly timeoutMs?: number | undefined;
      /**
       * Largest response after decompression, in bytes.
       * @default 10000000
       */
      readonly maxBytes?: number | undefined;
      /** Facts about the API beyond its document. */
      readonly overlay?: {
        /** Name of the API. */
        readonly name?: string | undefined;
        /** Hosts of the API. An adapter of another id, whose document names one of them as its server or has the name as its title, gets these facts too, except for `envVar` and `idempotencyHeader`. */
        readonly hosts?: readonly string[] | undefined;
        /** Description of the API. */
        readonly description?: string | undefined;
        /** Category of the API. */
        readonly category?: string | undefined;
        /** Capabilities of the API. */
        readonly capabilities?: readonly string[] | undefined;
        /** Countries that the API covers. */
        readonly countries?: readonly string[] | undefined;
        /** Currencies that the API supports. */
        readonly currencies?: readonly string[] | undefined;
        /** URL of the documentation. */
        readonly documentation?: string | undefined;
        /** The environment variable that holds the credential. */
        readonly envVar?: string | undefined;
        /** Ids or names of the tools that most users need. */
        readonly commonOperations?: readonly string[] | undefined;
        /** Known errors of the API. */
        readonly errors?: readonly {
          /** Error code of the API. */
          readonly code: string;
          /** Meaning of the error. */
          readonly meaning: string;
          /** How to fix the error. */
          readonly fix: string;
        }[] | undefined;
        /** Advice for calling the API. */
        readonly bestPractices?: readonly string[] | undefined;
        /** Description of the webhooks of the API. */
        readonly webhooks?: string | undefined;
        /** The header in which requests that change something take an idempotency key, if the document declares none. */
        readonly idempotencyHeader?: string | undefined;
      } | undefined;
    } } | undefined;
    /**
     * Facts about APIs by id. Those in `adapters` take precedence.
     * @default {}
     */
    readonly overlays?: { readonly [name: string]: {
      /** Name of the API. */
      readonly name?: string | undefined;
      /** Hosts of the API. An adapter of another id, whose document names one of them as its server or has the name as its title, gets these facts too, except for `envVar` and `idempotencyHeader`. */
      readonly hosts?: readonly string[] | undefined;
      /** Description of the API. */
      readonly description?: string | undefined;
      /** Category of the API. */
      readonly category?: string | undefined;
      /** Capabilities of the API. */
      readonly capabilities?: readonly string[] | undefined;
      /** Countries that the API covers. */
      readonly countries?: readonly string[] | undefined;
      /** Currencies that the API supports. */
      readonly currencies?: readonly string[] | undefined;
      /** URL of the documentation. */
      readonly documentation?: string | undefined;
      /** The environment variable that holds the credential. */
      readonly envVar?: string | undefined;
      /** Ids or names of the tools that most users need. */
      readonly commonOperations?: readonly string[] | undefined;
      /** Known errors of the API. */
      readonly errors?: readonly {
        /** Error code of the API. */
        readonly code: string;
        /** Meaning of the error. */
        readonly meaning: string;
        /** How to fix the error. */
        readonly fix: string;
      }[] | undefined;
      /** Advice for calling the API. */
      readonly bestPractices?: readonly string[] | undefined;
      /** Description of the webhooks of the API. */
      readonly webhooks?: string | undefined;
      /** The header in which requests that change something take an idempotency key, if the document declares none. */
      readonly idempotencyHeader?: string | undefined;
    } } | undefined;
  };
  readonly overload?: {
    /**
     * Calls that run at once.
     * @default 256
     */
    readonly maxConcurrent?: number | undefined;
    /**
     * Calls in the queue. More are refused.
     * @default 1024
     */
    readonly maxWaiting?: number | undefined;
    /**
     * Calls of one actor in the queue, so that there is room for other actors.
     * @default 128
     */
    readonly maxWaitingEach?: number | undefined;
    /**
     * Milliseconds of event loop lag above which calls are refused.
     * @default 200
     */
    readonly maxLagMs?: number | undefined;
    /**
     * Whether calls of the local user count too. A single user competes with no other, so they do not by default.
     * @default false
     */
    readonly local?: boolean | undefined;
  };
  readonly pins?: {
    /** Treatment of a new tool: `trust` pins it at once, `ask` holds it back until it is approved, `scan` pins nothing and holds back only tools whose texts hide something or give orders to a model, `off` does nothing. Without it `trust` if the plugin `guard` is used, else `scan`. */
    readonly firstUse?: "trust" | "ask" | "scan" | "off" | undefined;
  };
  readonly rates?: {
    /**
     * Limits by the name of a bucket or a pattern of names; the first match counts. Each actor is counted separately.
     * @default {"*_high_risk":{"limit":100,"perMs":60000},"*_destructive_risk":{"limit":100,"perMs":60000}}
     */
    readonly limits?: { readonly [name: string]: {
      /** Calls allowed per period. */
      readonly limit: number;
      /** Length of the period in milliseconds. */
      readonly perMs: number;
      /** Calls allowed at once; by default as many as `limit`. */
      readonly burst?: number | undefined;
    } } | undefined;
    /**
     * Whether all processes that share the state count together. A state that machines share always counts together.
     * @default false
     */
    readonly shared?: boolean | undefined;
    /** A limiter of your own, in place of memory or state. */
    readonly limiter?: unknown;
  };
  readonly registries?: {
    /** Base URLs of registries, the most trusted first. Without them, those in `TOOLPIPE_REGISTRIES`, or the official one. */
    readonly urls?: readonly string[] | undefined;
  };
  readonly registry?: {
    /** File to write the registry to, relative to the config file. It is a copy of the catalog. `MCP_REGISTRY_PATH` overrides it. */
    readonly path?: string | undefined;
    /**
     * Whether the file is written. Otherwise it must exist and match the operations.
     * @default true
     */
    readonly write?: boolean | undefined;
    /**
     * What happens if registry and operations differ: in lazy mode `refuse` refuses to start; `degrade` switches `gateway.intent` off.
     * @default "refuse"
     */
    readonly onFailure?: "refuse" | "degrade" | undefined;
    /**
     * Milliseconds that the check of a file that is not written waits for servers to list their tools.
     * @default 10000
     */
    readonly waitMs?: number | undefined;
  };
  readonly relay?: {
    /**
     * Whether clients see the resources of servers.
     * @default true
     */
    readonly resources?: boolean | undefined;
    /**
     * Whether clients see the prompts of servers, and completions for both.
     * @default true
     */
    readonly prompts?: boolean | undefined;
  };
  readonly replicas?: {
    /**
     * Whether gateways that share their state act as one.
     * @default true
     */
    readonly enabled?: boolean | undefined;
    /** The address at which other replicas reach this one, such as `http://10.0.0.7:8080`. By default the address it is served at or, if that stands for every address of the machine, the first one that others can reach. */
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
    /**
     * Retries of a call; 0 means none.
     * @default 1
     */
    readonly retries?: number | undefined;
    /**
     * The longest delay before the first retry in milliseconds; it doubles with each further retry.
     * @default 100
     */
    readonly baseMs?: number | undefined;
    /**
     * The longest delay of all in milliseconds. If a server asks for more, the call is not retried.
     * @default 2000
     */
    readonly maxMs?: number | undefined;
    /**
     * The share of the calls to a server that may be retries, from 0 to 1.
     * @default 0.2
     */
    readonly share?: number | undefined;
    /**
     * Failures in a row after which a server is not called for a while.
     * @default 5
     */
    readonly failures?: number | undefined;
    /**
     * Milliseconds for which a server that failed is not called.
     * @default 30000
     */
    readonly openMs?: number | undefined;
    /** A clock in milliseconds that never goes back, for tests. */
    readonly now?: unknown;
  };
  readonly rules?: {
    /**
     * Rules that enable, disable and tag tools, as a list or with `conflict`. The first rule that matches decides whether a tool is enabled; once any rule enables tools, all others are disabled.
     * @default []
     */
    readonly toolRules?: readonly {
      /** Globs, which ignore case, and `/regular expressions/` for the names of tools; a glob with a colon is for `server:tool`. A pattern with `!` before it excludes tools, wherever it stands; exclusions alone mean all other tools, and without `enabled` and `tags` they disable what they exclude. */
      readonly pattern: readonly string[];
      /** Only the tools of this server. */
      readonly server?: string | undefined;
      /** Whether the tools may be used. Of several rules with this field, the first counts. */
      readonly enabled?: boolean | undefined;
      /** Tags for the tools, in addition to those of other rules. */
      readonly tags?: readonly string[] | undefined;
    }[] | {
      /**
       * The rules.
       * @default []
       */
      readonly rules?: readonly {
        /** Globs, which ignore case, and `/regular expressions/` for the names of tools; a glob with a colon is for `server:tool`. A pattern with `!` before it excludes tools, wherever it stands; exclusions alone mean all other tools, and without `enabled` and `tags` they disable what they exclude. */
        readonly pattern: readonly string[];
        /** Only the tools of this server. */
        readonly server?: string | undefined;
        /** Whether the tools may be used. Of several rules with this field, the first counts. */
        readonly enabled?: boolean | undefined;
        /** Tags for the tools, in addition to those of other rules. */
        readonly tags?: readonly string[] | undefined;
      }[] | undefined;
      /**
       * What counts where rules disagree about a tool: the first that matches, or one that disables.
       * @default "first-match"
       */
      readonly conflict?: "first-match" | "deny-wins" | undefined;
    } | undefined;
  };
  readonly search?: {
    /** The ranker: a built-in one by its name, or another by its name or the path of its module. Without it, `fusion`. */
    readonly ranker?: "fusion" | "embedding" | "keyword" | "tag" | "simple" | string | {
      /** Name of a driver, or the path of a module that exports one. */
      readonly type: string;
      readonly [name: string]: unknown;
    } | object | undefined;
    /** Options of the ranker `fusion`. */
    readonly fusion?: {
      /** Weight of each scorer. */
      readonly weights?: {
        /**
         * Weight of common words.
         * @default 0.45
         */
        readonly keyword?: number | undefined;
        /**
         * Weight of similar meaning.
         * @default 0.55
         */
        readonly embedding?: number | undefined;
        /**
         * Weight of tags.
         * @default 0.1
         */
        readonly tag?: number | undefined;
      } | undefined;
      /** Least relevance of the best tool; below it nothing is found. 0 always finds a tool. The default is fitted to labelled queries. */
      readonly gate?: number | undefined;
      /**
       * Whether a query of several sentences is also searched sentence by sentence.
       * @default true
       */
      readonly clauses?: boolean | undefined;
    } | undefined;
    /** Options of the search by meaning. */
    readonly embedding?: {
      /** The embedder: `static` (built in, no network), an endpoint, a model of transformers.js, or another by name or path. Without it, `static`. */
      readonly embedder?: "static" | {
        /** An endpoint with the embeddings API of OpenAI. */
        readonly type: "openai";
        /**
         * Address of the API, with or without `/embeddings` at its end.
         * @default "https://api.openai.com/v1"
         */
        readonly url?: string | undefined;
        /** Name of the model. */
        readonly model: string;
        /** Environment variable that holds the API key, if one is needed. */
        readonly apiKeyEnv?: string | undefined;
        /** Length of the vectors, for models that offer a choice. */
        readonly dimensions?: number | undefined;
        /**
         * Prefix that some models need before a query, such as "search_query: ".
         * @default ""
         */
        readonly queryPrefix?: string | undefined;
        /**
         * Prefix that some models need before a tool, such as "search_document: ".
         * @default ""
         */
        readonly toolPrefix?: string | undefined;
        /**
         * Timeout of one request in milliseconds.
         * @default 30000
         */
        readonly timeoutMs?: number | undefined;
      } | {
        /** A model that transformers.js runs. */
        readonly type: "transformers";
        /** Name of a sentence model, such as "Xenova/all-MiniLM-L6-v2". */
        readonly model: string;
        /**
         * Prefix that some models need before a query, such as "query: ".
         * @default ""
         */
        readonly queryPrefix?: string | undefined;
        /**
         * Prefix that some models need before a tool, such as "passage: ".
         * @default ""
         */
        readonly toolPrefix?: string | undefined;
      } | (string & Record<never, never>) | {
        /** Name of an embedder, or path of a module that exports one. */
        readonly type: string;
        readonly [name: string]: unknown;
      } | object | undefined;
    } | undefined;
    /** Options of keyword search. */
    readonly keyword?: {
      /**
       * Weight of a word by the field of the tool that it is found in.
       * @default {}
       */
      readonly weights?: {
        /**
         * Weight of the tool's name.
         * @default 3
         */
        readonly name?: number | undefined;
        /**
         * Weight of the server's name.
         * @default 1.5
         */
        readonly server?: number | undefined;
        /**
         * Weight of the title.
         * @default 1
         */
        readonly title?: number | undefined;
        /**
         * Weight of the first sentence of the description.
         * @default 2
         */
        readonly summary?: number | undefined;
        /**
         * Weight of the rest of the description.
         * @default 1
         */
        readonly description?: number | undefined;
        /**
         * Weight of the names of parameters.
         * @default 0.4
         */
        readonly parameters?: number | undefined;
        /**
         * Weight of the descriptions of parameters.
         * @default 0.3
         */
        readonly parameterDescriptions?: number | undefined;
        /**
         * Weight of the tags.
         * @default 0.5
         */
        readonly tags?: number | undefined;
      } | undefined;
      /**
       * Penalty of a field that is longer than average, from 0 (none) to 1 (full).
       * @default {}
       */
      readonly lengths?: {
        /**
         * Penalty of a long name.
         * @default 0.3
         */
        readonly name?: number | undefined;
        /**
         * Penalty of a long server name.
         * @default 0.3
         */
        readonly server?: number | undefined;
        /**
         * Penalty of a long title.
         * @default 0.3
         */
        readonly title?: number | undefined;
        /**
         * Penalty of a long first sentence.
         * @default 0.3
         */
        readonly summary?: number | undefined;
        /**
         * Penalty of a long description.
         * @default 0.6
         */
        readonly description?: number | undefined;
        /**
         * Penalty of many parameters.
         * @default 0.6
         */
        readonly parameters?: number | undefined;
        /**
         * Penalty of long descriptions of parameters.
         * @default 0.6
         */
        readonly parameterDescriptions?: number | undefined;
        /**
         * Penalty of many tags.
         * @default 0.3
         */
        readonly tags?: number | undefined;
      } | undefined;
      /**
       * Saturation: how slowly repetitions of a word lose weight.
       * @default 1.2
       */
      readonly k1?: number | undefined;
      /**
       * Bonus for a query that has the words of the tool's name.
       * @default 0.5
       */
      readonly nameCoverage?: number | undefined;
      /**
       * Bonus for a tool that has the words of the query.
       * @default 0
       */
      readonly queryCoverage?: number | undefined;
      /**
       * Bonus for a query that has the words of the server's name.
       * @default 0.2
       */
      readonly serverCoverage?: number | undefined;
      /**
       * Weight of a synonym relative to the word itself, from 0 to 1.
       * @default 0.4
       */
      readonly synonyms?: number | undefined;
    } | undefined;
  };
  readonly "server-discovery"?: {
    /** Rate limits of single servers, by name. */
    readonly rateLimits?: { readonly [name: string]: {
      /**
       * Requests per second.
       * @default 10
       */
      readonly requestsPerSecond?: number | undefined;
      /**
       * Requests that may come at once.
       * @default 20
       */
      readonly burstSize?: number | undefined;
    } } | undefined;
    /**
     * Whether all servers are discovered at the start, in the background.
     * @default false
     */
    readonly warm?: boolean | undefined;
    /**
     * Whether servers that a registry names may have a private address.
     * @default false
     */
    readonly allowPrivate?: boolean | undefined;
    /** Headers for every server that is discovered, which replace those of the same name in its definition. */
    readonly authHeaders?: { readonly [name: string]: string } | undefined;
    /**
     * Whether agents get the tools `ccos_introspect_remote_api` and `ccos_register_server`.
     * @default false
     */
    readonly tools?: boolean | undefined;
  };
  readonly sources?: {
    /**
     * Clients whose servers are imported, by name, or `all`.
     * @default []
     */
    readonly clients?: "all" | readonly ("claude-desktop" | "claude-code" | "codex" | "gemini-cli" | "copilot" | "opencode" | "goose" | "amp" | "crush" | "kimi" | "mistral-vibe" | "cursor" | "vscode" | "windsurf" | "devin" | "zed" | "antigravity" | "cline" | "roo" | "continue" | "lm-studio" | "kiro" | "trae" | "junie" | "jetbrains-air" | "docker-mcp")[] | undefined;
    /**
     * Files to read besides those of the clients.
     * @default []
     */
    readonly sources?: readonly {
      /** Format of the file: a client by name, `custom`, `server-json`, or the module path of a source. */
      readonly type: "claude-desktop" | "claude-code" | "codex" | "gemini-cli" | "copilot" | "opencode" | "goose" | "amp" | "crush" | "kimi" | "mistral-vibe" | "cursor" | "vscode" | "windsurf" | "devin" | "zed" | "antigravity" | "cline" | "roo" | "continue" | "lm-studio" | "kiro" | "trae" | "junie" | "jetbrains-air" | "docker-mcp" | "custom" | "server-json" | (string & Record<never, never>);
      /** The file to read. A source from a module may know its files, and then needs none. */
      readonly path?: string | undefined;
    }[] | undefined;
    /**
     * Servers as spec 001 lists them: `{ name, description, connection }`.
     * @default []
     */
    readonly servers?: readonly {
      /** Id of the server. */
      readonly name: string;
      /** Whether the server is used; true if it is left out. */
      readonly enabled?: boolean | undefined;
      /** Whether the server is left out, as some clients write it. */
      readonly disabled?: boolean | undefined;
      readonly [name: string]: unknown;
    }[] | undefined;
    /**
     * Servers by name, in the format of most clients.
     * @default {}
     */
    readonly mcpServers?: { readonly [name: string]: {
      /** Whether the server is used; true if it is left out. */
      readonly enabled?: boolean | undefined;
      /** Whether the server is left out, as some clients write it. */
      readonly disabled?: boolean | undefined;
      readonly [name: string]: unknown;
    } } | undefined;
    /** Computer to read from, for tests. */
    readonly machine?: unknown;
  };
  readonly state?: {
    /** Folder of the files. Without it, a folder in the user's state folder. */
    readonly folder?: string | undefined;
    /** Address of a Redis that gateways on many machines share, in place of files. Environment variables such as ${REDIS_PASSWORD} are replaced. */
    readonly state?: string | undefined;
    /** Milliseconds that one step in Redis may take. Without it 250, so that a decision takes less than 300. */
    readonly timeoutMs?: number | undefined;
    /**
     * Whether calls that need an idempotency key are made on a Redis that keeps nothing on a disk (no AOF and no snapshots): after a restart of Redis, each could be made again. With `allow`, this is a warning.
     * @default "refuse"
     */
    readonly volatile?: "refuse" | "allow" | undefined;
    /** Store in place of both: `files`, `memory`, or the path of a module that exports one, alone or as `{ type, ...options }`. */
    readonly store?: string | {
      /** Name of a driver, or the path of a module that exports one. */
      readonly type: string;
      readonly [name: string]: unknown;
    } | object | undefined;
  };
  readonly telemetry?: {
    /**
     * Whether the baggage of requests is passed on to servers. It may tell one server about another.
     * @default true
     */
    readonly baggage?: boolean | undefined;
    /** Loads the OpenTelemetry API, in place of the installed one. Resolves to undefined if there is none. */
    readonly api?: unknown;
  };
  readonly timeout?: {
    /**
     * The limit for every tool in milliseconds.
     * @default 30000
     */
    readonly ms?: number | undefined;
    /**
     * Limits by server in milliseconds. They go before `callTimeoutMs` in the definition of the server.
     * @default {}
     */
    readonly servers?: { readonly [name: string]: number } | undefined;
    /**
     * Limits by tool id (`server:tool`) in milliseconds.
     * @default {}
     */
    readonly tools?: { readonly [name: string]: number } | undefined;
    /**
     * Whether progress restarts the time.
     * @default true
     */
    readonly extendOnProgress?: boolean | undefined;
    /**
     * The limit in milliseconds that neither progress nor the caller (`toolpipe/timeout-ms`) can exceed: a server can report progress forever. A tool whose own limit is longer keeps that.
     * @default 300000
     */
    readonly maxMs?: number | undefined;
  };
  readonly trace?: {
    /** Takes each line. By default it is written to standard error, because standard output may carry the protocol. */
    readonly write?: unknown;
  };
  readonly upstreams?: {
    /**
     * Whether listings are cached from one start to the next, if there is a cache.
     * @default false
     */
    readonly useCache?: boolean | undefined;
    /**
     * Servers that are listed at the start: those whose listing is old, those without one, or none.
     * @default "stale"
     */
    readonly discover?: "stale" | "missing" | "none" | undefined;
    /**
     * Milliseconds without use after which a connection is closed.
     * @default 300000
     */
    readonly idleMs?: number | undefined;
    /**
     * Calls in flight to one server; further calls wait.
     * @default 16
     */
    readonly concurrency?: number | undefined;
    /**
     * Connections that stay open, each of which may be a process: beyond it, the one that was not used for longest is closed. One that is in use stays.
     * @default 32
     */
    readonly maxOpen?: number | undefined;
    /**
     * Calls in a row that time out while their server sends nothing. Then it is asked whether it still works, and is ended and started again if it does not answer within 2 s.
     * @default 3
     */
    readonly maxSilentTimeouts?: number | undefined;
    /**
     * Servers that are listed at once.
     * @default 5
     */
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
  /**
   * Tools that clients see: those of the gateway (`meta`), those of the servers (`tools`), `both`, or what suits each client by its name (`auto`).
   * @default "meta"
   */
  readonly expose?: NonNullable<BuiltinOptions["exposure"]>["expose"];
  /** Options of the plugin `guard`. */
  readonly guard?: BuiltinOptions["guard"];
  /**
   * REST APIs by id, which is the server in every tool id.
   * @default {}
   */
  readonly adapters?: NonNullable<BuiltinOptions["openapi"]>["adapters"];
  /** Options of the plugin `overload`. */
  readonly overload?: BuiltinOptions["overload"];
  /** Options of the plugin `pins`. */
  readonly pins?: BuiltinOptions["pins"];
  /** Options of the plugin `registry`. */
  readonly registry?: BuiltinOptions["registry"];
  /** Options of the plugin `replicas`. */
  readonly replicas?: BuiltinOptions["replicas"];
  /**
   * Rules that enable, disable and tag tools, as a list or with `conflict`. The first rule that matches decides whether a tool is enabled; once any rule enables tools, all others are disabled.
   * @default []
   */
  readonly toolRules?: NonNullable<BuiltinOptions["rules"]>["toolRules"];
  /** Options of the plugin `search`. */
  readonly search?: BuiltinOptions["search"];
  /**
   * Servers as spec 001 lists them: `{ name, description, connection }`.
   * @default []
   */
  readonly servers?: NonNullable<BuiltinOptions["sources"]>["servers"];
  /**
   * Servers by name, in the format of most clients.
   * @default {}
   */
  readonly mcpServers?: NonNullable<BuiltinOptions["sources"]>["mcpServers"];
  /** Options of the plugin `sources`. */
  readonly sources?: BuiltinOptions["sources"] | NonNullable<BuiltinOptions["sources"]>["sources"];
  /** Options of the plugin `state`. */
  readonly state?: BuiltinOptions["state"] | NonNullable<BuiltinOptions["state"]>["state"];
}
