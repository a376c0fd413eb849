import {
  type CallRequest,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Progress,
  type SettledCall,
  type Tool,
  type ToolResult,
} from "../../../core/mod.ts";
import { CLIENT_CANNOT } from "../../../core/services/clients.ts";
import type { Results } from "../../../core/services/results.ts";
import { invalidParams, toExecutionError } from "../../lib/jsonrpc.ts";
import { listPendingServers } from "../../lib/servers.ts";
import { callerNotes } from "../client/call-client.ts";
import { clientCannot, isRefusedState } from "../client/questions.ts";
import { prepareLists } from "../providers.ts";
import type { ExposedTool, View } from "../view.ts";
import { cacheable, isQuestions } from "./messages.ts";
import type { Handlers, Request } from "./request.ts";

type ToolsView = Pick<View, "gateway" | "findTool" | "answerFailure">;

/** Handlers of the requests that concern tools. */
export function toolHandlers(view: ToolsView & Pick<View, "listTools" | "listsServers">): Handlers {
  return {
    "tools/list": (_params, { isModern, info }) => {
      const list = () => ({
        tools: isModern ? view.listTools(info) : view.listTools(info).map(toLegacyTool),
        ...(isModern && cacheable),
      });
      const listing = view.listsServers(info) ? prepareLists(view.gateway) : undefined;
      return listing ? listing.then(list) : list();
    },
    "tools/call": ({ name, arguments: args }, request) => {
      if (typeof name !== "string") throw invalidParams("A call needs the name of a tool.");
      const listing = waitForTool(view, name, request);
      const call = () => callTool(view, name, args, request);
      return listing ? listing.then(call) : call();
    },
  };
}

/** Time that a call waits for a server that is starting and may have its tool. */
const START_MS = 30_000;

/**
 * Waits until a tool of this name is there, or no server that is starting can have it. Returns undefined where there is
 * nothing to wait for.
 */
function waitForTool(
  view: Pick<View, "gateway" | "findTool">,
  name: string,
  request: Request,
): Promise<void> | undefined {
  const { gateway } = view;
  const { servers } = gateway?.services ?? {};
  const isFound = (): boolean => view.findTool(name, request.info) !== undefined;
  if (!gateway || !servers || isFound()) return undefined;
  const pending = listPendingServers(gateway);
  if (pending.length === 0) return undefined;
  // Such a name is reserved for its server.
  const named = pending.filter((server) => name.toLowerCase().startsWith(`${server.toLowerCase()}__`));
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, START_MS);
    const finish = (): void => {
      clearTimeout(timer);
      resolve();
    };
    request.signal.addEventListener("abort", finish, { once: true });
    const listed = (named.length > 0 ? named : pending).map(async (server) => {
      await servers.refresh(server);
      if (isFound()) finish();
    });
    void Promise.all(listed).then(finish);
  });
}

/** Rejects with a `GatewayError` if the request itself is wrong; any other failure is a result with the error. */
function callTool(view: ToolsView, name: string, args: unknown, request: Request): Promise<ToolResult> {
  const { gateway } = view;
  const tool = view.findTool(name, request.info);
  if (!tool || !gateway) {
    return Promise.reject(new GatewayError("TOOL_NOT_FOUND", `There is no tool "${name}".`));
  }
  const { run } = gateway;
  const { results } = gateway.services;
  const { actor, client, input, meta, onProgress } = request;
  const call: CallRequest = {
    tool: tool.id,
    args,
    actor,
    cancellation: request,
    onProgress,
    input,
    meta,
    notes: callerNotes(request),
  };
  // A client refuses an unstructured answer of a tool with an output schema, so such an answer is never cut, and never
  // replaced by a link to the result.
  const keepStructured = tool.outputSchema !== undefined;
  const toResult = (settled: SettledCall): ToolResult => {
    const answer = toAnswer(settled, tool, request, view.answerFailure);
    const fits = !settled.ok || !results || isQuestions(answer);
    const result = fits ? answer : results.fit(answer, settled.actor, { keepStructured });
    return request.isModern ? result : toLegacyResult(result);
  };
  if (!results?.waitMs || keepStructured) return run(call).then(toResult);
  return runLongCall(run, call, results, toResult, { name: describe(tool, args), client });
}

/** The tool that a call is about: the one that its arguments name, if it executes another tool. */
function describe({ id, builtin }: Tool, args: unknown): string {
  const { server, tool } = isJsonObject(args) ? args : {};
  const isTarget = builtin && typeof server === "string" && typeof tool === "string";
  return `"${(isTarget ? `${server}:${tool}` : id).slice(0, 160)}"`;
}

/** A legacy client refuses a whole list if the output schema of one tool is not that of an object. */
function toLegacyTool(tool: ExposedTool): ExposedTool {
  const { outputSchema, ...rest } = tool;
  if (outputSchema === undefined) return tool;
  return isJsonObject(outputSchema) && outputSchema["type"] === "object" ? tool : (rest as ExposedTool);
}

/**
 * Runs a call, and waits for it no longer than `results.waitMs`. Then the client gets a link to the result, which can
 * be read once it is there; the call goes on, and is recorded as one call. The time in which the client is asked
 * something does not count.
 */
function runLongCall(
  run: (request: CallRequest) => Promise<SettledCall>,
  request: CallRequest,
  results: Results,
  toResult: (settled: SettledCall) => ToolResult,
  { name, client }: { readonly name: string; readonly client: Request["client"] },
): Promise<ToolResult> {
  let last: Progress | undefined;
  let isAnswered = false;
  const running = run({
    ...request,
    onProgress(progress) {
      last = progress;
      // The protocol allows no progress of a request that is answered.
      if (!isAnswered) request.onProgress?.(progress);
    },
  });
  return new Promise((resolve, reject) => {
    let timer = setTimeout(check, results.waitMs);
    running
      .then((settled) => {
        clearTimeout(timer);
        if (!isAnswered) resolve(toResult(settled));
      })
      .catch(reject);

    function check(): void {
      const left = Math.ceil((client?.answeredAt ?? 0) + results.waitMs - performance.now());
      if (left > 0) timer = setTimeout(check, left);
      else answerLater();
    }

    function answerLater(): void {
      const { actor } = request;
      const link = results.later(running.then(toToolResult), { actor, name, progress: () => last });
      isAnswered = link !== undefined;
      if (link) resolve(link);
    }
  });
}

/** Creates the answer to a client whose call has ended. Throws if the request itself was wrong. */
function toAnswer(
  settled: SettledCall,
  tool: Tool,
  { client, input }: Pick<Request, "client" | "input">,
  answerFailure: View["answerFailure"],
): ToolResult {
  const isModern = client?.protocol === "modern";
  if (settled.ok) {
    if (isModern || !isQuestions(settled.result)) return settled.result;
    // A legacy client cannot be handed questions: a server has to ask by a request.
    const error = clientCannot("input_required", {});
    return toToolResult({ ...settled, ok: false, result: undefined, error });
  }
  const isProtocol =
    isModern && (settled.error.code === CLIENT_CANNOT.code || isRefusedState(settled.error, input));
  const own = isProtocol ? undefined : answerFailure(settled);
  if (own) return { ...own, _meta: { ...own._meta, ...toFailureMeta(settled.error) } };
  // A call of one of the gateway's own tools that ended before its execution was wrong in itself.
  if (tool.builtin && settled.stage !== "execute") throw settled.error;
  // The modern protocol has an error code for a missing capability, by which a client knows what it lacks.
  if (isModern && settled.error.code === CLIENT_CANNOT.code) throw settled.error;
  if (isModern && isRefusedState(settled.error, input)) throw invalidParams(settled.error.message);
  return toToolResult(settled);
}

/** Returns the result of a call that has ended; if it failed, a result with the error. */
function toToolResult(settled: SettledCall): ToolResult {
  return settled.ok ? settled.result : toFailure(settled, settled.error);
}

/** Converts a result for a legacy client, which takes structured content only as an object. */
function toLegacyResult(result: ToolResult): ToolResult {
  const { structuredContent: value } = result;
  if (value === undefined || isJsonObject(value)) return result;
  return { ...result, structuredContent: { result: value } };
}

/** Key in `_meta` of a failed result, with the number that the failure has in JSON-RPC. */
const RPC_CODE = "toolpipe/rpcCode";

/** Creates the error object of the specification, for an agent to read and act on, without stack or cause. */
function toFailure(call: SettledCall, error: GatewayError): ToolResult {
  const target = call.tool?.builtin ? call.args : { server: call.tool?.server, tool: call.tool?.name };
  const { server, tool } = target as { server?: unknown; tool?: unknown };
  const body = toExecutionError(error, server, tool);
  return {
    content: [{ type: "text", text: JSON.stringify({ success: false, error: body }) }],
    isError: true,
    _meta: toFailureMeta(error),
  };
}

/** The number of the server's own error, where it answered with one. */
function toFailureMeta({ data, kind }: GatewayError): JsonObject {
  return { [RPC_CODE]: data["rpcCode"] ?? kind.rpc };
}
