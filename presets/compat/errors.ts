import { GatewayError } from "../../core/mod.ts";
import { JsonRpcError } from "../../plugins/lib/jsonrpc.ts";

/** Facts of a {@link DiscoveryError}. */
export interface DiscoveryErrorOptions {
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  readonly details?: unknown;
  readonly cause?: unknown;
  readonly code?: string | undefined;
}

/** An error of the engine, with a code of the specification. */
export class DiscoveryError extends Error {
  code: string;
  // biome-ignore lint/suspicious/noExplicitAny: the type of the specification
  details?: any;

  constructor(message: string, { code = "DISCOVERY_ERROR", details, cause }: DiscoveryErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    if (details !== undefined) this.details = details;
  }
}

/** A config that cannot be used. */
export class ConfigurationError extends DiscoveryError {
  override code = "CONFIGURATION_ERROR";
}

/** A server that cannot be reached. */
export class ServerConnectionError extends DiscoveryError {
  override code = "SERVER_CONNECTION_ERROR";
  server: string;

  constructor(message: string, options: DiscoveryErrorOptions = {}) {
    super(message, options);
    this.server = options.server ?? "";
  }
}

/** A tool that failed. */
export class ToolExecutionError extends DiscoveryError {
  override code = "TOOL_EXECUTION_ERROR";
  server: string;
  tool: string;

  constructor(message: string, options: DiscoveryErrorOptions = {}) {
    super(message, options);
    this.server = options.server ?? "";
    this.tool = options.tool ?? "";
  }
}

/** A tool that is not there. */
export class ToolNotFoundError extends DiscoveryError {
  override code = "TOOL_NOT_FOUND";
  server: string;
  tool: string;

  constructor(message: string, options: DiscoveryErrorOptions = {}) {
    super(message, options);
    this.server = options.server ?? "";
    this.tool = options.tool ?? "";
  }
}

/** Arguments that a tool does not accept. */
export class ValidationError extends DiscoveryError {
  override code = "VALIDATION_ERROR";
}

/** An error of the protocol, with its JSON-RPC code. */
export class MCPProtocolError extends JsonRpcError {
  override name = "MCPProtocolError";
}

type ErrorClass = new (message: string, options?: DiscoveryErrorOptions) => DiscoveryError;

/** Classes by the name that a kind of error has in the specification. */
const classes: Readonly<Record<string, ErrorClass>> = {
  CONFIGURATION_ERROR: ConfigurationError,
  SERVER_CONNECTION_ERROR: ServerConnectionError,
  TOOL_NOT_FOUND: ToolNotFoundError,
  TOOL_VALIDATION_ERROR: ValidationError,
};

/** Converts an error of the gateway, or anything else that was thrown. */
export function toDiscoveryError(
  thrown: unknown,
  names: { readonly server?: string; readonly tool?: string } = {},
): DiscoveryError {
  if (thrown instanceof DiscoveryError) return thrown;
  const error = GatewayError.from(thrown);
  const Kind = classes[error.kind.spec] ?? ToolExecutionError;
  return new Kind(error.message, { ...names, details: { ...error.data, code: error.code }, cause: thrown });
}
