/** What every edge needs to know of a kind of failure to speak of it in its own terms. */
export interface ErrorKind {
  /** The stable name that programs match on. */
  readonly code: string;
  /** The name a specification gives it, which agents and `--json` output see. */
  readonly spec: string;
  /** The JSON-RPC error code. */
  readonly rpc: number;
  /** The exit code of a command that ends with it. */
  readonly exit: number;
  /** Whether the same request may succeed later, unchanged. */
  readonly retry: boolean;
}

/** The kinds of failure the core itself raises. The list is closed; a plugin declares its own with {@link defineError}. */
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

function kind(code: CoreCode, spec: string, rpc: number, exit: number, retry = false): ErrorKind {
  return Object.freeze({ code, spec, rpc, exit, retry });
}

/** One row for each code of the core. The README repeats it, and a test compares the two. */
export const errorKinds: Readonly<Record<CoreCode, ErrorKind>> = Object.freeze({
  TOOL_NOT_FOUND: kind("TOOL_NOT_FOUND", "TOOL_NOT_FOUND", METHOD_NOT_FOUND, 2),
  DENIED: kind("DENIED", "TOOL_EXECUTION_ERROR", INTERNAL_ERROR, 4),
  TOOL_DISABLED: kind("TOOL_DISABLED", "TOOL_DISABLED", INTERNAL_ERROR, 4),
  INVALID_ARGUMENTS: kind("INVALID_ARGUMENTS", "TOOL_VALIDATION_ERROR", INVALID_PARAMS, 1),
  ARGUMENTS_TOO_DEEP: kind("ARGUMENTS_TOO_DEEP", "TOOL_VALIDATION_ERROR", INVALID_PARAMS, 1),
  ARGUMENTS_TOO_LARGE: kind("ARGUMENTS_TOO_LARGE", "TOOL_VALIDATION_ERROR", INVALID_PARAMS, 1),
  FORBIDDEN_KEY: kind("FORBIDDEN_KEY", "TOOL_VALIDATION_ERROR", INVALID_PARAMS, 1),
  UNANSWERED: kind("UNANSWERED", "TOOL_EXECUTION_ERROR", INTERNAL_ERROR, 3),
  TIMEOUT: kind("TIMEOUT", "TOOL_EXECUTION_TIMEOUT", INTERNAL_ERROR, 3, true),
  CANCELLED: kind("CANCELLED", "TOOL_EXECUTION_ERROR", INTERNAL_ERROR, 3, true),
  CLOSED: kind("CLOSED", "TOOL_EXECUTION_ERROR", INTERNAL_ERROR, 3, true),
  CONFIG_INVALID: kind("CONFIG_INVALID", "CONFIGURATION_ERROR", INTERNAL_ERROR, 2),
  PLUGIN_INVALID: kind("PLUGIN_INVALID", "CONFIGURATION_ERROR", INTERNAL_ERROR, 2),
  PLUGIN_FAILED: kind("PLUGIN_FAILED", "CONFIGURATION_ERROR", INTERNAL_ERROR, 2),
  INTERNAL: kind("INTERNAL", "TOOL_EXECUTION_ERROR", INTERNAL_ERROR, 3),
});

/** Declares a kind of failure that belongs to a plugin. */
export function defineError(code: string, row: Partial<Omit<ErrorKind, "code">> = {}): ErrorKind {
  return Object.freeze({
    code,
    spec: row.spec ?? "TOOL_EXECUTION_ERROR",
    rpc: row.rpc ?? INTERNAL_ERROR,
    exit: row.exit ?? 3,
    retry: row.retry ?? false,
  });
}

/** What else a {@link GatewayError} can carry. */
export interface GatewayErrorOptions {
  /** What went wrong underneath. For logs; no edge shows it to an agent. */
  readonly cause?: unknown;
  /** Facts a program can act on. Everything in it may be shown to anyone. */
  readonly data?: Readonly<Record<string, unknown>>;
}

function toKind(kind: CoreCode | ErrorKind): ErrorKind | undefined {
  if (typeof kind === "string") return Object.hasOwn(errorKinds, kind) ? errorKinds[kind] : undefined;
  // Not every caller is checked by a compiler.
  return typeof (kind as ErrorKind | undefined)?.code === "string" ? kind : undefined;
}

function undeclared(kind: unknown): string {
  const code = typeof kind === "string" ? JSON.stringify(kind) : `of the type ${typeof kind}`;
  return `(Its error code ${code} is not declared: core has no such code. Declare one with defineError.)`;
}

/**
 * The one error class. Its message says what cannot be done and why, in words that may be shown to
 * anyone; what may not be shown stays in `cause`. It is an answer and not a crash, so it records no stack
 * (which was two thirds of the cost of a denial); where something unforeseen failed, `cause` has one.
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
      known ? message : `${message} ${undeclared(kind)}`,
      "cause" in options ? { cause: options.cause } : undefined,
    );
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
    this.kind = known ?? errorKinds.INTERNAL;
    this.code = this.kind.code;
    this.data = options.data ?? {};
  }

  /** Recognises an error by name, so that two copies of this package understand each other. */
  static is(value: unknown): value is GatewayError {
    return value instanceof Error && value.name === "GatewayError" && "kind" in value;
  }

  /** Turns whatever was thrown into a `GatewayError`. A stranger's message is kept as `cause` only: it may hold secrets. */
  static from(thrown: unknown, message = "Something failed inside the gateway."): GatewayError {
    return GatewayError.is(thrown) ? thrown : new GatewayError("INTERNAL", message, { cause: thrown });
  }

  /** What may leave the process: no stack, no cause. */
  toJSON(): { code: string; message: string; data: Readonly<Record<string, unknown>> } {
    return { code: this.code, message: this.message, data: this.data };
  }
}

// On the prototype, as built-in errors have it: an own property would be printed with every error.
Object.defineProperty(GatewayError.prototype, "name", { value: "GatewayError", configurable: true });
