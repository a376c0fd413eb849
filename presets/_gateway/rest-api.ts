import { type Gateway, GatewayError, type SettledCall } from "../../core/mod.ts";
import { type RestAnswer, type RestApi, statusOf } from "../../plugins/serve/rest.ts";
import type { Envelope } from "./envelope.ts";
import { TOOL_ERROR } from "./failure.ts";
import { runOperation } from "./run-operation.ts";

/** What is answered over REST: the same calls, through the same pipeline. */
export function restOf(gateway: Gateway): RestApi {
  return {
    async list(filters, actor) {
      const call = await gateway.run({ tool: "gateway:gateway.adapters", args: filters, actor });
      return call.ok ? { status: 200, body: textOf(call) } : failed(call.error);
    },
    async execute({ adapter, tool, args, options, actor, trace, signal }) {
      const order = { id: `${adapter}:${tool}`, params: args, options };
      const request = { actor, meta: { ...trace }, ...(signal && { signal }) };
      const { envelope, error } = await runOperation(gateway, order, request);
      return {
        status: error ? statusOf(error) : envelope.isError ? statusOf({ code: TOOL_ERROR }) : 200,
        body: withRest(envelope),
        ...(error && { headers: headersOf(error) }),
      };
    },
    // A call that may change something is not broken off because nobody waits for it any more.
    readsOnly: (adapter, tool) =>
      gateway.catalog.tool(`${adapter}:${tool}`)?.annotations?.readOnlyHint === true,
  };
}

/** What is not data cannot follow an answer here, so that it is in it. */
function withRest({ json, rest }: Envelope): string {
  return rest.length === 0 ? json : `${json.slice(0, -1)},"content":${JSON.stringify(rest)}}`;
}

function textOf(call: SettledCall): string {
  return String(call.result?.content[0]?.["text"]);
}

function failed(error: GatewayError): RestAnswer {
  const { code, message } = GatewayError.from(error);
  const body = JSON.stringify({ success: false, error: { code, message } });
  return { status: statusOf(error), body, headers: headersOf(error) };
}

function headersOf({ data }: GatewayError): Readonly<Record<string, string>> {
  const retryAfter = data["retry_after"];
  return typeof retryAfter === "number" ? { "retry-after": String(Math.ceil(retryAfter)) } : {};
}
