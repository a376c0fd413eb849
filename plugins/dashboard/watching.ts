import type { Call, SettledCall } from "../../core/mod.ts";
import { masked } from "../_masked.ts";
import { type CallLabels, labelsOf } from "../metrics/call-labels.ts";
import { createTimeline, type Series } from "./timeline.ts";

/** A call that is over, as the page shows it: what an audit record tells, without the arguments' code. */
export interface SeenCall {
  /** Counts the calls of this process, from 1. */
  readonly seq: number;
  readonly time: string;
  readonly id: string;
  readonly parent?: string;
  readonly tool: string;
  readonly server: string;
  readonly actor: string;
  readonly outcome: string;
  readonly stage: string;
  readonly via?: string;
  readonly ms: number;
}

/** A call that is under way. */
export interface LiveCall {
  readonly id: string;
  readonly parent?: string;
  readonly tool: string;
  readonly actor: string;
  readonly stage: string;
  readonly ms: number;
}

/** What the page is told of calls. */
export interface Watching {
  begin(call: Call): void;
  end(call: SettledCall): void;
  /** Those after a number, oldest first. */
  seen(after: number): readonly SeenCall[];
  live(): readonly LiveCall[];
  series(): Series;
}

/** More than fit on a page. */
const MAX_LIVE = 100;
const MAX_AT_ONCE = 500;
const MAX_TEXT = 160;

/** What is kept of a call; it is made fit to be shown when somebody looks. */
interface Kept {
  readonly seq: number;
  readonly labels: CallLabels;
  readonly call: Pick<SettledCall, "id" | "parentId" | "startedAt" | "durationMs">;
  /** As the catalog has it, or as the caller wrote it. */
  readonly tool: string;
  readonly isKnown: boolean;
  readonly actor: string;
}

/** Keeps the last `keep` calls in memory, and those that are under way. */
export function createWatching(keep: number): Watching {
  const timeline = createTimeline();
  const calls = new Map<string, Call>();
  const kept: Kept[] = [];
  let seq = 0;
  return {
    begin: (call) => void calls.set(call.id, call),
    end(call) {
      calls.delete(call.id);
      const labels = labelsOf(call);
      const { id, parentId, startedAt, durationMs, tool, toolId, actor } = call;
      if (parentId === undefined) timeline.add(durationMs, labels.outcome !== "ok");
      kept.push({
        seq: ++seq,
        labels,
        // Not the call itself, which would keep its arguments and its result.
        call: { id, parentId, startedAt, durationMs },
        // A caller may write anything there, however long.
        tool: tool?.id ?? toolId.slice(0, 2 * MAX_TEXT),
        isKnown: tool !== undefined,
        actor: actor.id,
      });
      // By halves, because what is taken from the front moves all the rest.
      if (kept.length >= 2 * keep) kept.splice(0, kept.length - keep);
    },
    seen(after) {
      const fresh = kept.slice(-keep).filter((one) => one.seq > after);
      return fresh.slice(-MAX_AT_ONCE).map(shownCall);
    },
    live: () =>
      [...calls.values()].slice(0, MAX_LIVE).map((call) => ({
        id: call.id,
        ...(call.parent && { parent: call.parent.id }),
        tool: call.tool?.id ?? shownText(call.toolId),
        actor: shownText(call.actor.id),
        stage: call.stage,
        ms: Date.now() - call.startedAt,
      })),
    series: timeline.series,
  };
}

function shownCall({ seq, labels, call, tool, isKnown, actor }: Kept): SeenCall {
  const { server, outcome, stage, via } = labels;
  return {
    seq,
    time: new Date(call.startedAt).toISOString(),
    id: call.id,
    ...(call.parentId !== undefined && { parent: call.parentId }),
    tool: isKnown ? tool : shownText(tool),
    server,
    actor: shownText(actor),
    outcome,
    stage,
    ...(via !== "" && { via }),
    ms: Math.round(call.durationMs * 1_000) / 1_000,
  };
}

/** What a stranger wrote, as it may be shown. */
export function shownText(text: string): string {
  const clean = masked(text).replace(/\p{C}+/gu, " ");
  return clean.length <= MAX_TEXT ? clean : `${clean.slice(0, MAX_TEXT)}…`;
}
