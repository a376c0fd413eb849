import { GatewayError } from "../../core/mod.ts";

/** The codes of JSON-RPC, and those that MCP adds. */
export const rpcCodes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  resourceNotFound: -32002,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** An error of the protocol itself, sent to the client as it is. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The error object of a JSON-RPC answer: code, message, and only such data as any client may see. */
export function toRpcError(thrown: unknown): { code: number; message: string; data?: unknown } {
  if (thrown instanceof RpcError) {
    return {
      code: thrown.code,
      message: thrown.message,
      ...(thrown.data !== undefined && { data: thrown.data }),
    };
  }
  const error = GatewayError.from(thrown);
  const { requiredCapabilities } = error.data;
  const required = error.kind.rpc === rpcCodes.missingCapability && { requiredCapabilities };
  return { code: error.kind.rpc, message: error.message, data: { code: error.kind.spec, ...required } };
}

/** The error of a method that does not exist. */
export function methodNotFound(method: string): RpcError {
  return new RpcError(rpcCodes.methodNotFound, `There is no method "${method.slice(0, 80)}".`);
}

/** The error of params that a method does not accept. */
export function invalidParams(message: string, data?: unknown): RpcError {
  return new RpcError(rpcCodes.invalidParams, message, data);
}
