import { randomBytes } from "node:crypto";
import { join } from "node:path";
import * as v from "valibot";
import {
  type Call,
  defineError,
  definePlugin,
  type ErrorKind,
  type Gateway,
  GatewayError,
  type MaybePromise,
  type PluginFactory,
} from "../../core/mod.ts";
import type { AuditSink } from "../../core/services/audit.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { createFrom, type DriverOptions, driverChoice, driverName } from "../lib/driver-choice.ts";
import { stateFolder } from "../lib/folders.ts";
import { canonicalJson } from "../lib/hash.ts";
import { fileSink } from "./file.ts";
import { folderSink } from "./folder.ts";
import { installationKey, textHasher } from "./key.ts";
import { memorySink } from "./memory.ts";
import { intentOf, outcomeOf, type Params, recordOf } from "./record.ts";
import { createRecorder } from "./recorder.ts";

export type {
  AuditEvent,
  AuditNote,
  AuditRecord,
  AuditSink,
  ChainedRecord,
} from "../../core/services/audit.ts";
export { fileSink } from "./file.ts";
export { type AuditFolder, folderSink } from "./folder.ts";
export { type MemorySink, memorySink } from "./memory.ts";
export { type AuditFault, type Verified, verifyAudit } from "./verify.ts";

/** A call that may do harm is not executed, because it cannot be recorded. */
export const AUDIT_UNAVAILABLE: ErrorKind = defineError("AUDIT_UNAVAILABLE", {
  spec: "AUDIT_UNAVAILABLE",
  exit: 4,
  retry: true,
});

/** Options of the plugin `audit`. */
export interface AuditOptions {
  /**
   * A sink, `memory`, or the path of a module that exports one, alone or as `{ type, ...options }`; a file a process in
   * `folder` by default.
   */
  readonly sink?: string | DriverOptions | AuditSink;
  /** A file of one JSON record a line, if no sink is given. */
  readonly file?: string;
  /** A folder with one such file a process, if neither is given; `audit` in the state folder by default. */
  readonly folder?: string;
  /** Files of the folder are removed so many days after their last record, when a process begins to record; 30 by default. */
  readonly keepDays?: number;
  /** Of more bytes than this, the oldest files of the folder are removed at the same time; 100,000,000 by default. */
  readonly maxBytes?: number;
}

type Settings = AuditOptions & Required<Pick<AuditOptions, "keepDays" | "maxBytes">>;

const options = v.strictObject({
  sink: v.optional(
    v.union(
      [v.custom<AuditSink>(isSink), driverChoice],
      "an audit sink, the name of a driver, or the path of a module",
    ),
  ),
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
  uses: [],
  keys: ["audit"],
  options: options as v.GenericSchema<AuditOptions, Settings>,
  // Just before the tool: whoever denies a call, or answers it in the tool's place, comes first.
  order: "post",
  async setup(gateway, { sink, file, folder = join(stateFolder(), "audit"), keepDays, maxBytes }) {
    gateway.register("auditSink", "file", (options) => fileSink(String(options["file"])));
    gateway.register("auditSink", "folder", (options) =>
      folderSink({ folder, keepDays, maxBytes, ...options }),
    );
    gateway.register("auditSink", "memory", () => memorySink());
    const own = sink ? await openSink(gateway, sink) : file === undefined ? undefined : fileSink(file);
    const target = own ?? folderSink({ folder, keepDays, maxBytes });
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
      close: () => recorder.close(),
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
      if (!tool.policy) return "unknown";
      const { riskLevel } = getPolicy(tool);
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

async function openSink(
  gateway: Pick<Gateway, "driver">,
  choice: string | DriverOptions | AuditSink,
): Promise<AuditSink> {
  if (isSink(choice)) return choice;
  const sink = await createFrom(gateway, "auditSink", choice as string | DriverOptions);
  if (isSink(sink)) return sink;
  throw new GatewayError(
    "CONFIG_INVALID",
    `audit.sink: "${driverName(choice)}" did not create an audit sink. It needs write and close.`,
  );
}

function isSink(value: unknown): value is AuditSink {
  const sink = value as Partial<AuditSink> | null;
  return typeof sink?.write === "function" && typeof sink.close === "function";
}
