import { GatewayError } from "../../core/mod.ts";
import {
  CONNECT_FAILED,
  CONNECT_TIMEOUT,
  UPSTREAM_CLOSED,
  UPSTREAM_ERROR,
  UPSTREAM_PROTOCOL,
} from "../../core/services/servers.ts";

/** The circumstances of a failure. */
interface Failure {
  /** The name of the server. */
  readonly name: string;
  /** Reason for the end of the connection. */
  readonly closeReason?: string | undefined;
  /** Explains an error that only the transport knows. */
  readonly explain?: ((thrown: unknown) => GatewayError | undefined) | undefined;
}

/** An error in an answer. */
export interface RpcErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/**
 * Turns a failed request into an error of ours. It quotes the server only if that answered with an error: word for word
 * for the caller of a tool, with the name of the server for a request that the gateway made for itself.
 */
export function requestError(
  thrown: unknown,
  { name, explain }: Omit<Failure, "closeReason">,
  isOwn = false,
): GatewayError {
  const own = ownError(thrown);
  if (own) return own;
  if (isAnswer(thrown)) {
    const { message, code } = thrown;
    const said = toSafeMessage(message);
    const text =
      isOwn || said === "" ? `The server "${name}" answered with an error: ${said || NO_REASON}` : said;
    return new GatewayError(UPSTREAM_ERROR, text, { cause: thrown, data: { rpcCode: code } });
  }
  const explained = explain?.(thrown);
  if (explained) return explained;
  const message = `The server "${name}" sent an invalid answer.`;
  return new GatewayError(UPSTREAM_PROTOCOL, message, { cause: thrown });
}

/** Turns a failed attempt to connect into an error of ours. */
export function connectError(thrown: unknown, { name, closeReason, explain }: Failure): GatewayError {
  const own = ownError(thrown);
  if (own && own.code !== UPSTREAM_CLOSED.code) return own;
  const options = { cause: thrown };
  if (closeReason !== undefined) {
    const message = `The server "${name}" ended before it was ready: ${closeReason}.`;
    return new GatewayError(CONNECT_FAILED, message, options);
  }
  if (isAnswer(thrown)) {
    const message = `The server "${name}" refused the connection: ${toSafeMessage(thrown.message) || NO_REASON}`;
    return new GatewayError(CONNECT_FAILED, message, options);
  }
  const explained = explain?.(thrown);
  if (explained) return explained;
  return new GatewayError(CONNECT_FAILED, `No connection to the server "${name}" could be made.`, options);
}

/** The error of a server that was too slow to start. */
export function connectTimeout(name: string, ms: number): GatewayError {
  return new GatewayError(CONNECT_TIMEOUT, `The server "${name}" was not ready within ${Math.ceil(ms)} ms.`, {
    data: { ms },
  });
}

/** The error of a server that did not answer in time. */
export function requestTimeout(name: string, ms: number): GatewayError {
  return new GatewayError("TIMEOUT", `The server "${name}" did not answer within ${Math.ceil(ms)} ms.`, {
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

/** Whether a request failed because the server answered it with an error of the protocol. */
export function wasAnswered(thrown: unknown): boolean {
  return GatewayError.is(thrown) && thrown.data["rpcCode"] !== undefined;
}

/** An error as a server answered with it. */
export function toAnswerError({ code, message, data }: RpcErrorObject): Error {
  return Object.assign(new Error(message), { name: "ProtocolError", code, data });
}

/** Whether a server answered a request with an error of the protocol, and which. */
export function isAnswer(thrown: unknown): thrown is Error & { readonly code: number } {
  return thrown instanceof Error && thrown.name === "ProtocolError" && Number.isSafeInteger(codeOf(thrown));
}

/** Whether a message was not sent because the connection was over. */
export function isClosed(thrown: unknown): boolean {
  return ownError(thrown)?.code === UPSTREAM_CLOSED.code;
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
const NO_REASON = "it gave no reason.";
/** Matches the whole sequence, so that no "[31m" is left of it. */
const terminalSequence = /\p{Cc}\[[0-?]*[ -/]*[@-~]/gu;

/** Makes the message of a server safe to print: one short line, no stack, no terminal sequences. It may be empty. */
function toSafeMessage(message: string): string {
  const text = message
    .slice(0, 20_000)
    .split(/\r?\n/)
    .filter((line) => !/^\s+at .*[:)]|^\s*File ".*", line \d+|^Traceback \(/.test(line))
    .join(" ")
    .replace(terminalSequence, "")
    .replace(/\p{C}+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH - 1)}…`;
}
