import { cancelledBy, GatewayError } from "../../core/mod.ts";
import {
  CONNECT_FAILED,
  CONNECT_TIMEOUT,
  UPSTREAM_CLOSED,
  UPSTREAM_ERROR,
  UPSTREAM_PROTOCOL,
} from "./errors.ts";

/** What is known of a request that failed. */
export interface Failure {
  /** The name of the server. */
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** Why the connection ended, if it did. */
  readonly closeReason?: string | undefined;
  /** Says what an error means that is known to the transport alone. */
  readonly explain?: ((thrown: unknown) => GatewayError | undefined) | undefined;
}

/** An error in an answer. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Says in our terms why a request failed. The server's own words are used only where it answered with an error. */
export function requestError(thrown: unknown, failure: Failure): GatewayError {
  const { name, signal, timeoutMs } = failure;
  if (signal?.aborted) return cancelledBy(signal);
  const own = ownError(thrown);
  if (own) return own;
  switch (codeOf(thrown)) {
    case "REQUEST_TIMEOUT":
      return requestTimeout(name, timeoutMs);
    case "CONNECTION_CLOSED":
    case "NOT_CONNECTED":
      return connectionEnded(failure);
    case "CAPABILITY_NOT_SUPPORTED":
      return new GatewayError(
        UPSTREAM_ERROR,
        `The server "${name}" asks for input that the gateway does not give.`,
        { cause: thrown },
      );
  }
  if (isAnswer(thrown)) {
    const { message, code } = thrown;
    return new GatewayError(
      UPSTREAM_ERROR,
      `The server "${name}" answered with an error: ${presentable(message)}`,
      {
        cause: thrown,
        data: { rpcCode: code },
      },
    );
  }
  if (thrown instanceof Error && thrown.message === "Not connected") return connectionEnded(failure);
  const explained = failure.explain?.(thrown);
  if (explained) return explained;
  return new GatewayError(
    UPSTREAM_PROTOCOL,
    `The server "${name}" answered in a way that cannot be understood.`,
    {
      cause: thrown,
    },
  );
}

/** Says in our terms why no connection came about. */
export function connectError(
  thrown: unknown,
  { name, closeReason, explain }: Omit<Failure, "timeoutMs">,
): GatewayError {
  const own = ownError(thrown);
  if (own && own.code !== UPSTREAM_CLOSED.code) return own;
  const options = { cause: thrown };
  if (closeReason !== undefined) {
    const message = `The server "${name}" ended before it was ready: ${closeReason}.`;
    return new GatewayError(CONNECT_FAILED, message, options);
  }
  if (isAnswer(thrown)) {
    const message = `The server "${name}" refused the connection: ${presentable(thrown.message)}`;
    return new GatewayError(CONNECT_FAILED, message, options);
  }
  const explained = explain?.(thrown);
  if (explained) return explained;
  return new GatewayError(CONNECT_FAILED, `No connection to the server "${name}" could be made.`, options);
}

/** The error of a server that was too slow to start. */
export function connectTimeout(name: string, ms: number): GatewayError {
  return new GatewayError(CONNECT_TIMEOUT, `The server "${name}" was not ready within ${ms} ms.`, {
    data: { ms },
  });
}

/** The error of a server that did not answer in time. */
export function requestTimeout(name: string, ms: number): GatewayError {
  return new GatewayError("TIMEOUT", `The server "${name}" did not answer within ${ms} ms.`, {
    data: { ms },
  });
}

/** The error of a connection that is over. */
export function connectionEnded(
  { name, closeReason }: Pick<Failure, "name" | "closeReason">,
  data: { readonly sent?: false } = {},
): GatewayError {
  const why = closeReason === undefined ? "is closed" : `ended: ${closeReason}`;
  return new GatewayError(UPSTREAM_CLOSED, `The connection to the server "${name}" ${why}.`, { data });
}

/** Whether a request failed because its connection had ended before anything of it was sent. */
export function isUnsent(thrown: unknown): boolean {
  return GatewayError.is(thrown) && thrown.code === UPSTREAM_CLOSED.code && thrown.data["sent"] === false;
}

/** An error as a server answered with it. */
export function answeredWith({ code, message, data }: RpcError): Error {
  return Object.assign(new Error(message), { name: "ProtocolError", code, data });
}

/** Whether a server answered a request with an error of the protocol, and which. */
export function isAnswer(thrown: unknown): thrown is Error & { readonly code: number } {
  return thrown instanceof Error && thrown.name === "ProtocolError" && Number.isSafeInteger(codeOf(thrown));
}

/** An error of our own: thrown by a transport, or put by it in place of an answer. */
function ownError(thrown: unknown): GatewayError | undefined {
  if (GatewayError.is(thrown)) return thrown;
  const { data } = (thrown ?? {}) as { data?: unknown };
  return GatewayError.is(data) ? data : undefined;
}

function codeOf(thrown: unknown): unknown {
  return thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
}

const MAX_LENGTH = 500;
/** Whole, so that no "[31m" is left of it. */
const terminalSequence = /\p{Cc}\[[0-?]*[ -/]*[@-~]/gu;

/** A stranger's message as it may be shown: one short line, no stack, nothing that steers a terminal. */
export function presentable(message: string): string {
  const text = message
    .slice(0, 20_000)
    .split(/\r?\n/)
    .filter((line) => !/^\s+at .*[:)]|^\s*File ".*", line \d+|^Traceback \(/.test(line))
    .join(" ")
    .replace(terminalSequence, "")
    .replace(/\p{C}+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  if (text === "") return "it gave no reason.";
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH - 1)}…`;
}
