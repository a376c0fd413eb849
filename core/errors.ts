/** A kind of failure, with its representation at each edge of the gateway. */
export interface ErrorKind {
  /** The stable name that programs match on. */
  readonly code: string;
  /** The name in the specification, for agents and `--json` output. */
  readonly spec: string;
  /** The JSON-RPC error code. */
  readonly rpc: number;
  /** The exit code of a command that ends with it. */
  readonly exit: number;
  /** Whether the same request may succeed later, unchanged. */
  readonly retry: boolean;
  /** The meaning in a sentence, for documentation. */
  readonly description?: string | undefined;
}

/** Codes of the core. The list is closed; a plugin declares its own kinds with {@link defineError}. */
export type CoreCode =
  | "TOOL_NOT_FOUND"
  | "DENIED"
  | "TOOL_DISABLED"
  | "INVALID_ARGUMENTS"
  | "ARGUMENTS_TOO_DEEP"
  | "ARGUMENTS_TOO_LARGE"
  | "FORBIDDEN_KEY"
  | "UNANSWERED"
  | "TIMEOUT"
  | "CANCELLED"
  | "CLOSED"
  | "CONFIG_INVALID"
  | "PLUGIN_INVALID"
  | "PLUGIN_FAILED"
  | "INTERNAL";

const INVALID_PARAMS = -32602;
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

/** The kinds of the core. A test generates docs/errors.md from them and from those of plugins. */
export const errorKinds: Readonly<Record<CoreCode, ErrorKind>> = Object.freeze({
  TOOL_NOT_FOUND: defineError("TOOL_NOT_FOUND", {
    spec: "TOOL_NOT_FOUND",
    rpc: METHOD_NOT_FOUND,
    exit: 2,
    description: "The gateway has no tool of this name.",
  }),
  DENIED: defineError("DENIED", { exit: 4, description: "A policy denied the call." }),
  TOOL_DISABLED: defineError("TOOL_DISABLED", {
    spec: "TOOL_DISABLED",
    exit: 4,
    description: "The tool is disabled.",
  }),
  INVALID_ARGUMENTS: defineError("INVALID_ARGUMENTS", {
    spec: "TOOL_VALIDATION_ERROR",
    rpc: INVALID_PARAMS,
    exit: 1,
    description: "The arguments do not match the input schema of the tool.",
  }),
  ARGUMENTS_TOO_DEEP: defineError("ARGUMENTS_TOO_DEEP", {
    spec: "TOOL_VALIDATION_ERROR",
    rpc: INVALID_PARAMS,
    exit: 1,
    description: "The arguments are nested deeper than allowed.",
  }),
  ARGUMENTS_TOO_LARGE: defineError("ARGUMENTS_TOO_LARGE", {
    spec: "TOOL_VALIDATION_ERROR",
    rpc: INVALID_PARAMS,
    exit: 1,
    description: "The arguments are larger than allowed.",
  }),
  FORBIDDEN_KEY: defineError("FORBIDDEN_KEY", {
    spec: "TOOL_VALIDATION_ERROR",
    rpc: INVALID_PARAMS,
    exit: 1,
    description: "The arguments have a key that reaches a prototype, such as `__proto__`.",
  }),
  UNANSWERED: defineError("UNANSWERED", {
    description: "No plugin executes the tool, or none returned a result.",
  }),
  TIMEOUT: defineError("TIMEOUT", {
    spec: "TOOL_EXECUTION_TIMEOUT",
    retry: true,
    description: "A call or a hook took longer than allowed.",
  }),
  CANCELLED: defineError("CANCELLED", { retry: true, description: "The caller cancelled the call." }),
  CLOSED: defineError("CLOSED", { retry: true, description: "The gateway is closing or closed." }),
  CONFIG_INVALID: defineError("CONFIG_INVALID", {
    spec: "CONFIGURATION_ERROR",
    exit: 2,
    description: "The config is wrong, or a file that it names cannot be used.",
  }),
  PLUGIN_INVALID: defineError("PLUGIN_INVALID", {
    spec: "CONFIGURATION_ERROR",
    exit: 2,
    description: "A plugin, a driver or one of its options is wrong.",
  }),
  PLUGIN_FAILED: defineError("PLUGIN_FAILED", {
    spec: "CONFIGURATION_ERROR",
    exit: 2,
    description: "A plugin could not be set up.",
  }),
  INTERNAL: defineError("INTERNAL", {
    description: "Something unforeseen failed inside the gateway; `cause` has the details.",
  }),
});

/** Declares an error kind of a plugin. */
export function defineError(code: string, row: Partial<Omit<ErrorKind, "code">> = {}): ErrorKind {
  return Object.freeze({
    code,
    spec: row.spec ?? "TOOL_EXECUTION_ERROR",
    rpc: row.rpc ?? INTERNAL_ERROR,
    exit: row.exit ?? 3,
    retry: row.retry ?? false,
    description: row.description,
  });
}

/** Options of a {@link GatewayError}. */
export interface GatewayErrorOptions {
  /** The underlying failure. For logs; no edge sends it to an agent. */
  readonly cause?: unknown;
  /** Facts for programs. Must hold no secrets. */
  readonly data?: Readonly<Record<string, unknown>>;
}

function toKind(kind: CoreCode | ErrorKind): ErrorKind | undefined {
  if (typeof kind === "string") return Object.hasOwn(errorKinds, kind) ? errorKinds[kind] : undefined;
  // Not every caller is type-checked.
  const { code, spec, rpc, exit } = (kind ?? {}) as Partial<ErrorKind>;
  const isDeclared = typeof code === "string" && typeof spec === "string";
  return isDeclared && typeof rpc === "number" && typeof exit === "number" ? kind : undefined;
}

function describeUndeclared(kind: unknown): string {
  const code = typeof kind === "string" ? JSON.stringify(kind) : `of the type ${typeof kind}`;
  return `(Its error code ${code} is not declared: core has no such code. Declare one with defineError.)`;
}

/**
 * The error class of the project. Its message states what failed and why, and holds no secrets; details that may hold some
 * are in `cause`. It is an answer and not a crash, so it records no stack (which was two thirds of the cost of a
 * denial); of an unforeseen failure, `cause` has one.
 */
export class GatewayError extends Error {
  readonly code: string;
  readonly kind: ErrorKind;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(kind: CoreCode | ErrorKind, message: string, options: GatewayErrorOptions = {}) {
    const known = toKind(kind);
    const { stackTraceLimit } = Error;
    // Not an assignment, which would throw where built-in objects are frozen.
    Reflect.set(Error, "stackTraceLimit", 0);
    super(
      known ? message : `${message} ${describeUndeclared(kind)}`,
      "cause" in options ? { cause: options.cause } : undefined,
    );
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
    this.kind = known ?? errorKinds.INTERNAL;
    this.code = this.kind.code;
    this.data = options.data ?? {};
  }

  /** Recognizes an error by name, so that it works between two copies of this package. */
  static is(value: unknown): value is GatewayError {
    return value instanceof Error && value.name === "GatewayError" && "kind" in value;
  }

  /** Converts a thrown value to a `GatewayError`. The message of another error stays in `cause`: it may hold secrets. */
  static from(thrown: unknown, message = "Something failed inside the gateway."): GatewayError {
    return GatewayError.is(thrown) ? thrown : new GatewayError("INTERNAL", message, { cause: thrown });
  }

  /** Returns the fields that may leave the process: no stack, no cause. */
  toJSON(): { code: string; message: string; data: Readonly<Record<string, unknown>> } {
    return { code: this.code, message: this.message, data: this.data };
  }
}

// On the prototype, as built-in errors have it: an own property would be printed with every error.
Object.defineProperty(GatewayError.prototype, "name", { value: "GatewayError", configurable: true });
