import { randomBytes } from "node:crypto";
import { join } from "node:path";
import * as v from "valibot";
import {
  type Call,
  definePlugin,
  type Gateway,
  GatewayError,
  type MaybePromise,
  type PluginFactory,
} from "../../core/mod.ts";
import { canonicalJson } from "../guard/canonical.ts";
import type {} from "../guard/mod.ts";
import { policyOf } from "../guard/policy.ts";
import { stateFolder } from "../state/folders.ts";
import { intentOf, outcomeOf, type Params, recordOf } from "./_record.ts";
import { createRecorder } from "./_recorder.ts";
import { AUDIT_UNAVAILABLE } from "./errors.ts";
import { fileSink } from "./file.ts";
import { folderSink } from "./folder.ts";
import { installationKey, textHasher } from "./key.ts";
import type { AuditSink } from "./sink.ts";

export { AUDIT_UNAVAILABLE } from "./errors.ts";
export { fileSink } from "./file.ts";
export { type AuditFolder, folderSink } from "./folder.ts";
export { type MemorySink, memorySink } from "./memory.ts";
export type {
  AuditEvent,
  AuditNote,
  AuditRecord,
  AuditSink,
  ChainedRecord,
} from "./sink.ts";
export { type AuditFault, type Verified, verifyAudit } from "./verify.ts";

/** The options of {@link audit}. */
export interface AuditOptions {
  /** Where records go. */
  readonly sink?: AuditSink;
  /** A file of one JSON record a line, if no sink is given. */
  readonly file?: string;
  /** The folder of one such file a process, if neither is given; `audit` in the folder of the state by default. */
  readonly folder?: string;
  /** Files of the folder are removed so many days after their last record, when a process begins to record; 30 by default. */
  readonly keepDays?: number;
  /** Of more bytes than this, the oldest files of the folder are removed at the same time; 100,000,000 by default. */
  readonly maxBytes?: number;
}

type Settings = AuditOptions & Required<Pick<AuditOptions, "keepDays" | "maxBytes">>;

const options = v.strictObject({
  sink: v.optional(v.custom<AuditSink>(isSink, "an audit sink")),
  file: v.optional(v.string()),
  folder: v.optional(v.string()),
  keepDays: v.optional(v.pipe(v.number(), v.minValue(0, "a number of days, 0 or more")), 30),
  maxBytes: v.optional(v.pipe(v.number(), v.minValue(0, "a number of bytes, 0 or more")), 100_000_000),
});

type Risk = "low" | "unknown" | "medium" | "high";

/** How long the records of a call may wait for others. Syncing each by itself took more than all the rest of a call. */
const patience: Readonly<Record<Risk, number>> = { low: 50, unknown: 50, medium: 0, high: 0 };

/**
 * Records every execution twice, before it happens and once it is over, and once every call that is never executed.
 * Arguments and results are not recorded. What may do harm by the judgement of the plugin `guard` waits until its first
 * record is on the disk, and is refused where that cannot be had. Any other call goes on: a record that cannot be
 * written costs it no answer; that is told once, until one can be written again.
 */
export const audit: PluginFactory<"audit", AuditOptions, Settings> = definePlugin({
  name: "audit",
  options: options as v.GenericSchema<AuditOptions, Settings>,
  // Just before the tool: whoever denies a call, or answers it in the tool's place, comes first.
  order: "post",
  setup(gateway, { sink, file, folder, keepDays, maxBytes }) {
    const own = sink ?? (file === undefined ? undefined : fileSink(file));
    const target = own ?? folderSink({ folder: folder ?? join(stateFolder(), "audit"), keepDays, maxBytes });
    const recorder = createRecorder(target, (error) => {
      gateway.report(error);
      // Nobody chose this place, so that nobody may be listening.
      if (!own) process.stderr.write(`toolpipe: ${error.message}\n`);
    });
    /** Of a call whose execution was recorded, its arguments as they were then. */
    const begun = Symbol("toolpipe audit");
    let hasher: ReturnType<typeof textHasher> | undefined;
    const codeOf = (params: Params): string => {
      hasher ??= textHasher(keyOf(gateway));
      params.code ??= hasher(params.text);
      return params.code;
    };

    return {
      execute(call, next) {
        const waiting = call.tool?.builtin || call.notes[begun] ? undefined : begin(call);
        return waiting ? waiting.then(next) : next();
      },
      audit(call) {
        const params = call.notes[begun] as Params | undefined;
        const wasExecuted =
          call.ok || params !== undefined || (call.tool?.builtin && call.stage === "execute");
        const draft = outcomeOf(
          call,
          wasExecuted ? "outcome" : "denial",
          params ?? { text: canonicalJson(call.args) },
        );
        const risk = riskOf(call);
        const writing = recorder.write(() => recordOf(draft, codeOf), patience[risk]);
        return risk === "high" ? writing.safe.then(() => {}) : writing.room;
      },
      close: () => target.close(),
    };

    /** Returns what the call has to wait for. */
    function begin(call: Call): MaybePromise<void> {
      const params: Params = { text: canonicalJson(call.args) };
      call.notes[begun] = params;
      const draft = intentOf(call, params);
      const risk = riskOf(call);
      const writing = recorder.write(() => recordOf(draft, codeOf), patience[risk]);
      if (risk !== "high") return writing.room;
      return writing.safe.then((isSafe) => {
        if (isSafe) return;
        call.notes[begun] = undefined;
        throw unavailable(call);
      });
    }

    /** Where nobody judges it, no call is held up for its records. */
    function riskOf({ tool }: Pick<Call, "tool">): Risk {
      if (!tool || tool.builtin) return "low";
      if (!gateway.services.guard && !tool.policy) return "unknown";
      const { riskLevel } = policyOf(tool);
      return riskLevel === "destructive" ? "high" : riskLevel;
    }
  },
});

function unavailable({ toolId }: Call): GatewayError {
  return new GatewayError(
    AUDIT_UNAVAILABLE,
    `"${toolId}" was not executed, because it cannot be recorded: the audit cannot be written.`,
    {
      data: {
        tool: toolId,
        sent: false,
        suggestion: "Make room on the disk of the audit, or let it be written to; then call again.",
      },
    },
  );
}

/** Codes of this process can then be compared with each other only, but are no easier to guess. */
function keyOf(gateway: Gateway): Buffer {
  try {
    return installationKey(join(stateFolder(), "audit.key"));
  } catch (cause) {
    gateway.report(
      new GatewayError(
        "INTERNAL",
        "The key of the audit cannot be read or made; another one is used for now.",
        {
          cause,
          data: { plugin: "audit", hook: "audit" },
        },
      ),
    );
    return randomBytes(32);
  }
}

function isSink(value: unknown): value is AuditSink {
  const sink = value as Partial<AuditSink> | null;
  return typeof sink?.write === "function" && typeof sink.close === "function";
}
