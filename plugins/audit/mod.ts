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
} from "../../core/mod.ts";
import type { AuditSink } from "../../core/services/audit.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { createDriver, type DriverOptions, driverChoice, getDriverName } from "../lib/driver-choice.ts";
import { stateFolder } from "../lib/folders.ts";
import { canonicalJson } from "../lib/hash.ts";
import { option } from "../lib/options.ts";
import { createAnchors } from "./anchors.ts";
import { createHasher, installationKey } from "./key.ts";
import { createRecorder, draftIntent, draftOutcome, type Params, toRecord } from "./recorder.ts";
import { createSigner, type Signer } from "./seal.ts";
import { fileSink, folderSink, memorySink } from "./sinks.ts";
import type { Verified, VerifyOptions } from "./verify.ts";

export type { AuditRecord, AuditSink, ChainedRecord } from "../../core/services/audit.ts";
export type { Anchor, Seal, Signer } from "./seal.ts";
export { type AuditFolder, fileSink, folderSink, type MemorySink, memorySink } from "./sinks.ts";
export type { AuditFault, AuditFaultKind, Verified, VerifyOptions } from "./verify.ts";

/**
 * Checks that every record of these files is unchanged and follows its predecessor. A file may continue another one,
 * or one of `beside`, as it does after a rotation.
 */
export async function verifyAudit(
  files: readonly string[],
  beside?: readonly string[],
  options?: VerifyOptions,
): Promise<readonly Verified[]> {
  const verify = await import("./verify.ts");
  return verify.verifyRecords(files, beside, options);
}

export const AUDIT_UNAVAILABLE: ErrorKind = defineError("AUDIT_UNAVAILABLE", {
  spec: "AUDIT_UNAVAILABLE",
  exit: 4,
  retry: true,
  description: "A high-risk call is not executed, because it cannot be recorded.",
});

const options = v.strictObject({
  sink: option(
    v.union(
      [v.custom<AuditSink>(isSink), driverChoice],
      "an audit sink, the name of a driver, or the path of a module",
    ),
    "`memory`, or the path of a module that exports a sink, alone or as `{ type, ...options }`. Without it, records go to `file` or `folder`.",
  ),
  file: option(v.string(), "File with one JSON record a line, if there is no `sink`."),
  folder: option(
    v.string(),
    "Folder with one such file for each process, if there is neither `sink` nor `file`. Without it, `audit` in the state folder.",
  ),
  keepDays: option(
    v.pipe(v.number(), v.minValue(0, "a number of days, 0 or more")),
    "Days after its last record until a file of the folder is removed. Files are removed when a process begins to record.",
    30,
  ),
  maxBytes: option(
    v.pipe(v.number(), v.minValue(0, "a number of bytes, 0 or more")),
    "Bytes of all files of the folder together, above which the oldest files are removed.",
    100_000_000,
  ),
  anchor: option(
    v.string(),
    "File that gets one JSON line whenever the number and hash of the last record are kept in the state, at most once a second: on a disk or a mount where this user can add lines but not change them, it shows also what that user has cut, removed or rewritten.",
  ),
});

/** Options of {@link audit}. */
export type AuditOptions = v.InferInput<typeof options>;

type Risk = "low" | "unknown" | "medium" | "high";

/** Milliseconds that records may wait to be written together: syncing each one took longer than the rest of a call. */
const maxDelayMs: Readonly<Record<Risk, number>> = { low: 50, unknown: 50, medium: 0, high: 0 };

/**
 * Records every execution before and after it, and once every call that is never executed. Arguments and results are
 * not recorded. A call of high risk, as the plugin `guard` rates it, waits until its first record is on the disk and is
 * refused if it cannot be written. Any other call goes on; the failure is reported once, until a record is written again.
 * Records are hashed under the key of this installation; where they end is kept in the state.
 */
export const audit = definePlugin({
  name: "audit",
  uses: ["state?"],
  keys: ["audit"],
  options,
  // Just before the tool, after the plugins that deny a call or answer it themselves.
  order: "post",
  errors: { AUDIT_UNAVAILABLE },
  async setup(gateway, { sink, file, folder = join(stateFolder(), "audit"), keepDays, maxBytes, anchor }) {
    let key: InstallationKey | undefined;
    const getKey = (): InstallationKey => {
      key ??= readKey(gateway);
      return key;
    };
    const { state } = gateway.services;
    // Only a store that several machines share can lose its records while the gateway runs.
    const shared = state?.shared && state;
    const seal = createAnchors({
      store: state,
      file: anchor,
      keepDays,
      signer: () => getKey().signer,
      report: tell,
    });
    gateway.register("auditSink", "file", (options) => fileSink(String(options["file"]), seal));
    gateway.register("auditSink", "folder", (options) =>
      folderSink({ folder, keepDays, maxBytes, ...options, seal }),
    );
    gateway.register("auditSink", "memory", () => memorySink());
    const own = sink ? await openSink(gateway, sink) : file === undefined ? undefined : fileSink(file, seal);
    const target = own ?? folderSink({ folder, keepDays, maxBytes, seal });
    const recorder = createRecorder(target, (error) => tell(error, !own));
    /** Key of the arguments of a call as they were when its execution was recorded. */
    const begun = Symbol("toolpipe audit");
    let hasher: ReturnType<typeof createHasher> | undefined;
    const hashParams = (params: Params): string => {
      hasher ??= createHasher(getKey().bytes);
      params.hash ??= hasher(params.json);
      return params.hash;
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
        const draft = draftOutcome(
          call,
          wasExecuted ? "outcome" : "denial",
          params ?? { json: canonicalJson(call.args) },
        );
        const risk = rateRisk(call);
        const writing = recorder.write(() => toRecord(draft, hashParams), maxDelayMs[risk]);
        return risk === "high" ? writing.safe.then(() => {}) : writing.room;
      },
      async close() {
        await recorder.close();
        seal.close();
      },
    };

    /** Reports a failure. Whether the user, who did not choose the default folder, listens for errors is not known. */
    function tell(error: GatewayError, isPrinted = true): void {
      gateway.report(error);
      if (isPrinted) process.stderr.write(`toolpipe: ${error.message}\n`);
    }

    /** Records that a call is executed. The returned promise delays the call. */
    function begin(call: Call): MaybePromise<void> {
      const params: Params = { json: canonicalJson(call.args) };
      call.notes[begun] = params;
      const draft = draftIntent(call, params, shared?.generation);
      const risk = rateRisk(call);
      const writing = recorder.write(() => toRecord(draft, hashParams), maxDelayMs[risk]);
      if (risk !== "high") return writing.room;
      return writing.safe.then((isSafe) => {
        if (isSafe) return;
        call.notes[begun] = undefined;
        throw createUnavailableError(call);
      });
    }

    /** Without a policy of the plugin `guard`, no call waits for its records. */
    function rateRisk({ tool }: Pick<Call, "tool">): Risk {
      if (!tool || tool.builtin) return "low";
      if (!tool.policy) return "unknown";
      const { riskLevel } = getPolicy(tool);
      return riskLevel === "destructive" ? "high" : riskLevel;
    }
  },
});

function createUnavailableError({ toolId }: Call): GatewayError {
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

/** The key of this installation. */
interface InstallationKey {
  readonly bytes: Buffer;
  /** Undefined for a temporary key, which could verify no record later. */
  readonly signer: Signer | undefined;
}

/** Falls back to a random key: hashes are then comparable within this process only, and still cannot be guessed. */
function readKey(gateway: Gateway): InstallationKey {
  try {
    const bytes = installationKey(join(stateFolder(), "audit.key"));
    return { bytes, signer: createSigner(bytes) };
  } catch (cause) {
    gateway.report(
      new GatewayError(
        "INTERNAL",
        "The audit key cannot be read or created. Argument hashes cannot be compared with those of other runs, and records are hashed without a key.",
        {
          cause,
          data: { plugin: "audit", hook: "audit" },
        },
      ),
    );
    return { bytes: randomBytes(32), signer: undefined };
  }
}

async function openSink(
  gateway: Pick<Gateway, "driver">,
  choice: string | DriverOptions | AuditSink,
): Promise<AuditSink> {
  if (isSink(choice)) return choice;
  const sink = await createDriver(gateway, "auditSink", choice as string | DriverOptions);
  if (isSink(sink)) return sink;
  throw new GatewayError(
    "CONFIG_INVALID",
    `audit.sink: "${getDriverName(choice)}" did not create an audit sink. It needs write and close.`,
  );
}

function isSink(value: unknown): value is AuditSink {
  const sink = value as Partial<AuditSink> | null;
  return typeof sink?.write === "function" && typeof sink.close === "function";
}
