import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { GatewayError } from "../../core/mod.ts";
import { createExchange, type HttpAnswer } from "../lib/http/exchange.ts";

/** The header that names the gateway which forwarded a request; a request that has it is not forwarded again. */
export const FORWARDED = "toolpipe-forwarded-by";

/** Milliseconds to connect: a machine that is gone does not refuse connections; it is silent. */
const CONNECT_MS = 2_000;

/** Headers of one connection; and `origin`, which was checked against the host that the client asked for. */
const HOP: readonly string[] =
  "connection expect keep-alive origin proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade".split(
    " ",
  );

/** Options for {@link forward}. */
interface ForwardOptions {
  /** Such as `http://10.0.0.7:8080`. */
  readonly origin: string;
  /** The gateway that forwards. */
  readonly from: string;
  /** The body of the request, if it was read already. */
  readonly body?: string | undefined;
}

const exchange = createExchange({ pooled: false, connectTimeoutMs: CONNECT_MS });

/**
 * Forwards a request to another gateway, unchanged and streamed; the other one authenticates it. Resolves to `gone` if
 * the other gateway cannot be reached, and to `lost` if the request was sent but no answer has begun.
 */
export async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  { origin, from, body }: ForwardOptions,
): Promise<"answered" | "gone" | "lost"> {
  const abort = new AbortController();
  // A client that disconnects takes its request with it.
  response.once("close", () => abort.abort());
  request.once("error", () => abort.abort());
  const { host: _, "content-length": length, ...headers } = toEndHeaders(request.headers);
  const hasBody = length !== undefined || request.headers["transfer-encoding"] !== undefined;
  const size = body === undefined ? length : String(Buffer.byteLength(body));
  let answer: HttpAnswer;
  try {
    answer = await exchange.send(
      {
        method: request.method ?? "GET",
        url: new URL(`${new URL(origin).origin}${request.url ?? "/"}`),
        headers: { ...headers, [FORWARDED]: from, ...(size !== undefined && { "content-length": size }) },
        body: body ?? (hasBody ? request : undefined),
      },
      abort.signal,
    );
  } catch (thrown) {
    return GatewayError.is(thrown) && thrown.data["sent"] === true ? "lost" : "gone";
  }
  response.writeHead(answer.status, toEndHeaders(answer.headers));
  response.flushHeaders();
  // Half an answer must not look like a whole one.
  answer.body.once("error", () => response.destroy()).pipe(response);
  return "answered";
}

/** Removes the headers of one connection. */
function toEndHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const hop = headers.connection?.toLowerCase().split(/\s*,\s*/) ?? [];
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || HOP.includes(name) || hop.includes(name) ? [] : [[name, value]],
    ),
  );
}
