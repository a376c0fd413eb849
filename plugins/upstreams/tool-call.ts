import {
  type Call,
  type CallInput,
  GatewayError,
  type JsonObject,
  type Progress,
  type Tool,
  type ToolResult,
} from "../../core/mod.ts";
import type { Client, Clients } from "../../core/services/clients.ts";
import { createPolicy, createRefusal, OUTCOME_UNKNOWN } from "../../core/services/policy.ts";
import {
  isUnsent,
  UPSTREAM_CLOSED,
  type UpstreamCallOptions,
  type UpstreamMethod,
  type UpstreamRequestOptions,
} from "../../core/services/servers.ts";
import type { PooledConnection } from "./connection.ts";
import { type InputContext, isInputRequired } from "./input-requests.ts";

/**
 * Options that a call of the pipeline sends to its server. A class with getters, so that the signal and the client are
 * created only when read: few calls need them, and each costs more than the rest of the way to the server.
 */
export class ToolCall implements UpstreamCallOptions, InputContext {
  readonly server: string;
  readonly meta: Readonly<JsonObject>;
  readonly timeoutMs: number | undefined;
  readonly input: CallInput | undefined;
  readonly cancellation: Call;
  readonly #clients: Clients | undefined;
  #client: Client | undefined;

  constructor(
    call: Call,
    server: string,
    meta: Readonly<JsonObject>,
    timeoutMs: number | undefined,
    clients: Clients | undefined,
  ) {
    this.cancellation = call;
    this.server = server;
    this.meta = meta;
    this.input = call.input;
    this.timeoutMs = timeoutMs;
    this.#clients = clients;
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }

  get client(): Client | undefined {
    this.#client ??= this.#clients?.get(this.cancellation);
    return this.#client;
  }

  readonly onProgress = (progress: Progress): void => this.cancellation.report(progress);

  /** Returns the options of the same call with answers to the server's input requests. */
  with(input: CallInput | undefined): UpstreamCallOptions {
    if (input === this.input) return this;
    const { cancellation, meta, timeoutMs, onProgress, client } = this;
    return { cancellation, meta, timeoutMs, onProgress, client, input };
  }
}

/**
 * Turns the failure of a call whose connection ended before the answer into one that is not retried: its outcome is
 * unknown. With a guard the failure stays as it is, for the guard knows which calls only read.
 */
export function toOutcomeError(call: Call, thrown: unknown): unknown {
  if (!call.tool || call.tool.policy || call.cancelled || !GatewayError.is(thrown)) return thrown;
  if (thrown.code !== UPSTREAM_CLOSED.code || isUnsent(thrown)) return thrown;
  const message = `It is unknown whether "${call.tool.id}" was done: ${thrown.message}`;
  return createRefusal(OUTCOME_UNKNOWN, call, message, {
    cause: thrown,
    suggestion:
      "Find out with another tool whether it was done. Make the call again only if it was not, or if it does no harm twice.",
    data: { reason: thrown.code },
  });
}

const string = { type: "string" };
const object = { type: "object" };
const definitions: Readonly<
  Record<UpstreamMethod, { readonly description: string; readonly inputSchema: JsonObject }>
> = {
  "resources/read": {
    description: "Reads a resource of this server",
    inputSchema: { type: "object", properties: { uri: string }, required: ["uri"] },
  },
  "prompts/get": {
    description: "Gets a prompt of this server",
    inputSchema: { type: "object", properties: { name: string, arguments: object }, required: ["name"] },
  },
  "completion/complete": {
    description: "Completes an argument of a prompt, or a variable of a resource template, of this server",
    inputSchema: {
      type: "object",
      properties: { ref: object, argument: object, context: object },
      required: ["ref", "argument"],
    },
  },
};

/**
 * Describes a request that is not a tool call as a tool, so that policies and rules apply to it by its name. The
 * description is the gateway's own and holds nothing that the server sent.
 */
export function createRequestTool(server: string, method: UpstreamMethod): Tool {
  return {
    id: `${server}:${method}`,
    server,
    name: method,
    builtin: false,
    request: method,
    ...definitions[method],
    annotations: { readOnlyHint: true },
    policy: createPolicy("low", server),
    tags: [],
    enabled: true,
  };
}

/** Makes the request of such a tool. Its result has a form of its own, which is kept whole in the result of the call. */
export async function sendRequest(
  connection: Pick<PooledConnection, "request">,
  method: UpstreamMethod,
  params: Readonly<JsonObject>,
  options: UpstreamRequestOptions,
): Promise<ToolResult> {
  const structuredContent = await connection.request(method, params, options);
  if (!isInputRequired(structuredContent)) return { content: [], structuredContent };
  const { inputRequests, requestState } = structuredContent;
  return { content: [], structuredContent, resultType: "input_required", inputRequests, requestState };
}
