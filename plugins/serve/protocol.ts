import { GatewayError, isJsonObject, type JsonObject, version } from "../../core/mod.ts";

/** The revisions of the older era, the newest first. */
export const legacyVersions: readonly string[] = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
];
/** The revisions of the newer era. */
export const modernVersions: readonly string[] = ["2026-07-28"];

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

/** Who we say we are. */
export const serverInfo: { readonly name: string; readonly version: string } = { name: "toolpipe", version };

/** An error of the protocol itself. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** What a client is told of a failure: a code, a sentence, and what may be known by anyone. */
export function rpcErrorOf(thrown: unknown): { code: number; message: string; data?: unknown } {
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

/** Which revision of the newer era a request claims, if any. One that is not known is refused. */
export function modernVersionOf(params: JsonObject): string | undefined {
  const meta = params["_meta"];
  const claimed = isJsonObject(meta) ? meta["io.modelcontextprotocol/protocolVersion"] : undefined;
  if (claimed === undefined) return undefined;
  if (typeof claimed === "string" && modernVersions.includes(claimed)) return claimed;
  throw new RpcError(rpcCodes.unsupportedVersion, "This protocol version is not supported.", {
    supported: modernVersions,
    requested: String(claimed).slice(0, 40),
  });
}

/** A result as the newer era wants it. */
export function modernResult(result: object): object {
  const { _meta, resultType, ...rest } = result as { _meta?: object; resultType?: unknown };
  return {
    ...rest,
    // Whatever else a server behind us says of its result is between it and us.
    resultType: resultType === "input_required" ? resultType : "complete",
    _meta: { ..._meta, "io.modelcontextprotocol/serverInfo": serverInfo },
  };
}
