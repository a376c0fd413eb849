import type { Tool } from "../../core/mod.ts";
import type {} from "../../core/services/adapters.ts";
import { getPolicy } from "../../core/services/policy.ts";

/** Whether an operation may be repeated: because it only reads or replaces, or because a key makes it happen once. */
export function isIdempotent(tool: Tool): boolean {
  const { operation, annotations } = tool;
  if (getPolicy(tool).idempotencyRequired) return true;
  if (operation) return /^(GET|HEAD|OPTIONS|TRACE|PUT|DELETE)$/.test(operation.method);
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}

/** What an operation is about: what its document says or, where it does not, the first part of its path. */
export function categoryOf({ operation, tags }: Tool): string {
  const [segment] = (operation?.path ?? "")
    .split("/")
    .filter((part) => part !== "" && !/^(v\d[\w.]*|api|\{.*\})$/i.test(part));
  return (operation?.category ?? segment ?? tags[0] ?? "general").trim().toLowerCase() || "general";
}
