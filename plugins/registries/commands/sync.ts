import { type Command, type CommandContext, defineCommand } from "../../../core/services/command.ts";
import { formatCount, output, usageError } from "../../lib/terminal/output.ts";
import { untilInterrupted } from "../../lib/terminal/process.ts";
import type { Mirror, MirrorParts, SyncReport } from "../mirror.ts";
import { formatRegistry } from "../options.ts";
import { openRegistries, registryArgs } from "./registries.ts";

/** Exit code where a registry could not be asked. */
const FAILED = 3;

/** Copies the lists of registries to this machine. */
export const command: Command = defineCommand({
  args: {
    full: { type: "boolean", description: "Ask for everything again" },
    json: { type: "boolean", description: "Print JSON" },
    config: {
      type: "string",
      description: "A config whose gateways share a Redis: then they share the copy too",
      valueHint: "FILE",
    },
    ...registryArgs,
  },
  async run({ config, ...given }, context) {
    if (config === undefined) return openAndSync(context, given, undefined);
    return context.open({ config }, async ({ services: { state, cache } }) => {
      if (!state?.shared) throw usageError(`The gateways of ${config} share no Redis; leave --config out.`);
      return openAndSync(context, given, cache);
    });
  },
});

interface SyncArgs {
  readonly full?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly registry?: string | undefined;
}

function openAndSync(
  context: CommandContext,
  given: SyncArgs,
  shared: MirrorParts["shared"],
): Promise<number> {
  return openRegistries(context, given, ({ mirror }) => syncOnce(mirror, given), shared);
}

async function syncOnce(mirror: Mirror, given: SyncArgs): Promise<number> {
  return untilInterrupted(async (signal) => {
    const progress = progressLine();
    const done = await mirror
      .sync({
        full: given.full,
        signal,
        onProgress: ({ registry, servers }) =>
          progress.show(`${formatRegistry(registry)}: ${formatCount(servers, "server")} …`),
      })
      .catch((thrown: unknown) => {
        if (!signal.aborted) throw thrown;
        return undefined;
      })
      .finally(() => progress.end());
    if (!done) {
      process.stderr.write("Interrupted. The copy is as it was before.\n");
      return FAILED;
    }
    const { reports, troubles } = done;
    const shown = reports.map((report) => ({ ...report, registry: formatRegistry(report.registry) }));
    const failures = troubles.map(({ message, data }) => ({ registry: data["registry"], message }));
    output(given.json, { synced: shown, failed: failures }, () => shown.map(describe).join(""));
    if (!given.json) for (const { message } of failures) process.stderr.write(`✗ ${message}\n`);
    return failures.length > 0 ? FAILED : 0;
  });
}

function describe(report: SyncReport): string {
  const { registry, total, added, changed, deprecated, deleted, dropped, isWhole } = report;
  const facts = [
    `${added} new`,
    `${changed} changed`,
    ...(deprecated > 0 ? [`${deprecated} deprecated`] : []),
    ...(deleted > 0 ? [`${deleted} deleted`] : []),
  ];
  const notes = [
    ...(dropped > 0
      ? [`  ! ${formatCount(dropped, "entry").replace("entrys", "entries")} could not be used`]
      : []),
    ...(isWhole ? [] : ["  ! Its list does not end; the rest was left out"]),
  ];
  return [`✓ ${registry}: ${formatCount(total, "server")} (${facts.join(", ")})`, ...notes, ""].join("\n");
}

/** A line of progress on a terminal; nothing elsewhere. */
function progressLine(): { show(text: string): void; end(): void } {
  if (!process.stderr.isTTY) return { show() {}, end() {} };
  const clear = "\r\u001b[2K";
  return {
    show: (text) => void process.stderr.write(`${clear}${text}`),
    end: () => void process.stderr.write(clear),
  };
}
