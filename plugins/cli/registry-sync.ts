import type { CommandDef } from "citty";
import type { MirrorParts, SyncReport } from "../registry/mirror.ts";
import { shownRegistry } from "../registry/options.ts";
import { command } from "./_command.ts";
import { loadCliConfig, withGateway } from "./_gateway.ts";
import { untilInterrupted } from "./_interrupt.ts";
import { output } from "./_output.ts";
import { openRegistries, registryArgs } from "./_registry.ts";
import { counted } from "./_shown.ts";
import { usageError } from "./_usage.ts";

/** Some registry could not be asked. */
const FAILED = 3;

/** Copies what registries list to this machine. */
export const sync: CommandDef = command({
  name: "sync",
  description: "Copy what MCP registries list to this machine; after the first time, only what has changed",
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
  async run({ config, ...given }) {
    if (config === undefined) return synced(given, undefined);
    return withGateway(await loadCliConfig({ config }), ({ services: { state, cache } }) => {
      if (!state?.manyMachines)
        throw usageError(`The gateways of ${config} share no Redis; leave --config out.`);
      return synced(given, cache);
    });
  },
});

interface SyncArgs {
  readonly full?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly registry?: string | undefined;
}

async function synced(given: SyncArgs, shared: MirrorParts["shared"]): Promise<number> {
  const { mirror } = await openRegistries(given, shared);
  return untilInterrupted(async (signal) => {
    const progress = progressLine();
    const done = await mirror
      .sync({
        full: given.full,
        signal,
        onProgress: ({ registry, servers }) =>
          progress.show(`${shownRegistry(registry)}: ${counted(servers, "server")} …`),
      })
      .catch((thrown: unknown) => {
        if (!signal.aborted) throw thrown;
        return undefined;
      })
      .finally(() => progress.end());
    if (!done) {
      process.stderr.write("Interrupted. The next sync goes on from here.\n");
      return FAILED;
    }
    const { reports, troubles } = done;
    const shown = reports.map((report) => ({ ...report, registry: shownRegistry(report.registry) }));
    const failures = troubles.map(({ message, data }) => ({ registry: data["registry"], message }));
    output(given.json, { synced: shown, failed: failures }, () => shown.map(describe).join(""));
    if (!given.json) for (const { message } of failures) process.stderr.write(`✗ ${message}\n`);
    return failures.length > 0 ? FAILED : 0;
  });
}

function describe(report: SyncReport): string {
  const { registry, total, added, changed, deprecated, deleted, dropped, isResumed, isWhole } = report;
  const facts = [
    `${added} new`,
    `${changed} changed`,
    ...(deprecated > 0 ? [`${deprecated} deprecated`] : []),
    ...(deleted > 0 ? [`${deleted} deleted`] : []),
    ...(isResumed ? ["continued where the last one ended"] : []),
  ];
  const notes = [
    ...(dropped > 0
      ? [`  ! ${counted(dropped, "entry").replace("entrys", "entries")} could not be used`]
      : []),
    ...(isWhole ? [] : ["  ! Its list does not end; the rest was left out"]),
  ];
  return [`✓ ${registry}: ${counted(total, "server")} (${facts.join(", ")})`, ...notes, ""].join("\n");
}

/** One line that changes, where a person looks on; elsewhere nothing. */
function progressLine(): { show(text: string): void; end(): void } {
  if (!process.stderr.isTTY) return { show() {}, end() {} };
  const clear = "\r\u001b[2K";
  return {
    show: (text) => void process.stderr.write(`${clear}${text}`),
    end: () => void process.stderr.write(clear),
  };
}
