import type { Tool } from "../../core/mod.ts";
import type {} from "../upstreams/implied-tool.ts";
import type {} from "../upstreams/openapi/operation.ts";
import { higher, type OperationPolicy, policyFor, type RiskLevel } from "./policy.ts";
import { isAboutMoney, isSearch, riskOfFirstWord, riskOfName } from "./verbs.ts";

/** What is known of a tool beyond itself. */
export interface InferenceContext {
  /** Whether its server's word is taken for what its tools do. */
  readonly trusted?: boolean | undefined;
  /** What its API is about, where that is known. */
  readonly category?: string | undefined;
}

/** What a tool asks of whoever calls it, as far as can be seen from outside. */
export function inferPolicy(
  tool: Tool,
  { trusted = false, category }: InferenceContext = {},
): OperationPolicy {
  const about = slug(category) ?? slug(tool.operation?.category) ?? slug(tool.server) ?? "general";
  // What such a request does is said by the protocol, and not by its server.
  if (tool.builtin || tool.request) return policyFor("low", about);
  return policyFor(withHints(riskOf(tool), tool.annotations, trusted), about);
}

/** From the method of its request and the verbs in its name; what says nothing at all is high risk. */
function riskOf({ name, operation }: Tool): RiskLevel {
  const method = operation?.method.toUpperCase();
  if (method === undefined) return riskOfName(name) ?? "high";
  // The method is what is really sent. A name is looked at to find an API that changes things by GET.
  if (method === "GET" || method === "HEAD" || method === "OPTIONS" || method === "TRACE") {
    return riskOfFirstWord(name) ?? "low";
  }
  if (method === "DELETE") return "destructive";
  // Many names begin with the method, which is no verb there.
  const named = higher("medium", riskOfName(name, method.toLowerCase()) ?? "medium");
  return isAboutMoney(`${name} ${operation?.path}`) && !isSearch(name) ? higher(named, "high") : named;
}

/** What a server says of its own tool only ever makes it look worse, unless the server is trusted. */
function withHints(inferred: RiskLevel, hints: Tool["annotations"], trusted: boolean): RiskLevel {
  const { readOnlyHint, destructiveHint } = hints ?? {};
  if (readOnlyHint !== true && destructiveHint === true) return "destructive";
  // It says both, so that neither is worth much.
  if (destructiveHint === true) return higher(inferred, "high");
  if (trusted && readOnlyHint === true) return "low";
  if (trusted && destructiveHint === false && inferred === "destructive") return "high";
  return readOnlyHint === false ? higher(inferred, "medium") : inferred;
}

function slug(text: string | undefined): string | undefined {
  const plain = text
    ?.toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  return plain || undefined;
}
