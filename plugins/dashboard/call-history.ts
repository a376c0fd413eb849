import type { Call, SettledCall } from "../../core/mod.ts";
import { redactSecrets } from "../lib/redact.ts";
import { type CallLabels, getCallLabels } from "../lib/telemetry.ts";
import { createTimeline } from "./timeline.ts";

/** A finished call on the page: an audit record without the hash of the arguments. */
export type SeenCall = ReturnType<typeof toSeenCall>;

/** The recent calls of a gateway. */
export type CallHistory = ReturnType<typeof createCallHistory>;

/** Limits of one answer: more would not fit on the page. */
const MAX_LIVE = 100;
const MAX_AT_ONCE = 500;
const MAX_TEXT = 160;

/** The stored fields of a call; they are redacted when the page asks for them. */
interface Kept {
  /** Counts the calls of this process, from 1. */
  readonly seq: number;
  readonly labels: CallLabels;
  readonly call: Pick<SettledCall, "id" | "parentId" | "startedAt" | "durationMs">;
  /** The id of the catalog, or the one the caller wrote. */
  readonly tool: string;
  readonly isKnown: boolean;
  readonly actor: string;
}

/** Keeps the last `keep` calls and the running ones in memory. */
export function createCallHistory(keep: number) {
  const timeline = createTimeline();
  const calls = new Map<string, Call>();
  const kept: Kept[] = [];
  let seq = 0;
  return {
    begin: (call: Call) => void calls.set(call.id, call),
    end(call: SettledCall): void {
      calls.delete(call.id);
      const labels = getCallLabels(call);
      const { id, parentId, startedAt, durationMs, tool, toolId, actor } = call;
      if (parentId === undefined) timeline.add(durationMs, labels.outcome !== "ok");
      kept.push({
        seq: ++seq,
        labels,
        // Not the call itself, which would keep its arguments and its result.
        call: { id, parentId, startedAt, durationMs },
        // A caller may write anything of any length.
        tool: tool?.id ?? toolId.slice(0, 2 * MAX_TEXT),
        isKnown: tool !== undefined,
        actor: actor.id,
      });
      // Half at a time, because removing from the front moves all the rest.
      if (kept.length >= 2 * keep) kept.splice(0, kept.length - keep);
    },
    /** Lists finished calls after a sequence number, oldest first. */
    seen(after: number) {
      const fresh = kept.slice(-keep).filter((one) => one.seq > after);
      return fresh.slice(-MAX_AT_ONCE).map(toSeenCall);
    },
    live: () =>
      [...calls.values()].slice(0, MAX_LIVE).map((call) => ({
        id: call.id,
        ...(call.parent && { parent: call.parent.id }),
        tool: call.tool?.id ?? toDisplayText(call.toolId),
        actor: toDisplayText(call.actor.id),
        stage: call.stage,
        ms: Date.now() - call.startedAt,
      })),
    series: timeline.series,
  };
}

function toSeenCall({ seq, labels, call, tool, isKnown, actor }: Kept) {
  const { server, outcome, stage, via } = labels;
  return {
    seq,
    time: new Date(call.startedAt).toISOString(),
    id: call.id,
    ...(call.parentId !== undefined && { parent: call.parentId }),
    tool: isKnown ? tool : toDisplayText(tool),
    server,
    actor: toDisplayText(actor),
    outcome,
    stage,
    ...(via !== "" && { via }),
    ms: Math.round(call.durationMs * 1_000) / 1_000,
  };
}

/** Redacts, cleans and shortens a string from outside. */
export function toDisplayText(text: string): string {
  const clean = redactSecrets(text).replace(/\p{C}+/gu, " ");
  return clean.length <= MAX_TEXT ? clean : `${clean.slice(0, MAX_TEXT)}…`;
}
