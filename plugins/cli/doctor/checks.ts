import type { Gateway, GatewayError, LoadedConfig, Plugin } from "../../../core/mod.ts";
import { formatRuleReport } from "../../../core/services/rules.ts";
import type { ServerStatus } from "../../../core/services/servers.ts";
import { isHeld, listServerTools, listStatuses, showWaiting } from "../../lib/servers.ts";
import { formatCount, quoteForShell, toTerminalLine } from "../../lib/terminal/output.ts";
import type { Collected } from "../../sources/mod.ts";
import { hasPlugin } from "../context.ts";
import { estimateServer } from "../cost.ts";

/** Servers that are started at once: more would slow each other down. */
const PARALLEL = 5;

/** Outcome of the check of a server. */
export interface ServerCheck {
  readonly status: ServerStatus;
  /** Whether it has listed its tools. */
  readonly ok: boolean;
  /** Milliseconds from its start to its listing; absent if it was not started. */
  readonly ms?: number;
  readonly tools: number;
  /** Tokens of its definitions for an agent. */
  readonly tokens: number;
  /** Its failure; the `cause` is for the user only. */
  readonly error?: GatewayError | undefined;
}

/** Failures of servers; their status has only the message. */
export interface Failures {
  readonly plugin: Plugin;
  find(status: ServerStatus): GatewayError | undefined;
}

/** Creates a plugin that records the failures of servers. */
export function recordFailures(): Failures {
  const recorded = new Map<unknown, GatewayError>();
  return {
    plugin: {
      name: "record-failures",
      setup: () => ({
        error(error) {
          if (error.data["event"] === "connection-failed") recorded.set(error.data["server"], error);
        },
      }),
    },
    find: ({ name }) => recorded.get(name),
  };
}

/** Adjusts a config so that no server waits in a queue of the gateway, which would count as its delay. */
export function toTimedConfig(config: LoadedConfig): LoadedConfig {
  if (!hasPlugin(config, "upstreams")) return config;
  const upstreams = { discover: "none", maxParallelDiscoveries: PARALLEL };
  return { ...config, options: { ...config.options, upstreams } };
}

/** Starts every server that may be started, a few at a time, and asks for its tools. */
export async function checkServers(gateway: Gateway, failures: Failures): Promise<readonly ServerCheck[]> {
  const all = listStatuses(gateway);
  const times = new Map<string, number>();
  const queue = all.filter((status) => !isHeld(status)).map(({ name }) => name);
  const open = new Set(queue);
  let done = (): void => {};
  const showOpen = (): void => {
    done();
    if (open.size > 0) done = showWaiting(formatWaiting([...open]));
  };
  const work = async (): Promise<void> => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      const start = performance.now();
      await gateway.services.servers?.refresh(name);
      times.set(name, Math.round(performance.now() - start));
      open.delete(name);
      showOpen();
    }
  };
  showOpen();
  try {
    // Loading our own modules must not count as delay of the first server.
    await Promise.all([...gateway.drivers("upstream").values()].map((driver) => driver.load?.()));
    await Promise.all(Array.from({ length: PARALLEL }, work));
  } finally {
    done();
  }
  return all.map(({ name }) => toServerCheck(gateway, name, times.get(name), failures));
}

function toServerCheck(
  gateway: Gateway,
  name: string,
  ms: number | undefined,
  failures: Failures,
): ServerCheck {
  const status = gateway.services.servers?.status(name) as ServerStatus;
  const ok = status.status === "connected";
  const tools = ok ? listServerTools(gateway, name).filter(({ enabled }) => enabled) : [];
  return {
    status,
    ok,
    ...(ms !== undefined && { ms }),
    tools: tools.length,
    tokens: ok ? estimateServer(tools, status.info) : 0,
    ...(!ok && { error: failures.find(status) }),
  };
}

/** Formats names for one line: a line that wraps cannot be erased. */
function formatWaiting(names: readonly string[]): string {
  const [first = "", second] = names;
  const more = names.length > 2 ? ` and ${names.length - 2} more` : "";
  const shown = [first, ...(second === undefined ? [] : [second])].map((name) => name.slice(0, 20));
  return `Waiting for ${shown.join(", ")}${more} …`;
}

/** A problem of files, entries or rules. */
export interface Finding {
  /** `doubt` may be unintended; `note` is informational. */
  readonly severity: "broken" | "doubt" | "note";
  readonly code: string;
  readonly problem: string;
  readonly fix?: string;
}

/** Collects problems other than those of starting servers. */
export async function collectFindings(gateway: Gateway): Promise<readonly Finding[]> {
  const collected = (await gateway.services.sources?.collect()) ?? { servers: [], files: [], warnings: [] };
  return [
    ...checkFiles(collected),
    ...checkEntries(collected),
    ...checkLeftOut(collected),
    ...checkTools(gateway),
    ...checkHeldTools(gateway),
    ...(await checkRules(gateway)),
    ...(await checkState(gateway)),
  ].map((finding) => ({ ...finding, problem: toTerminalLine(finding.problem) }));
}

function checkFiles({ files }: Collected): Finding[] {
  return files.flatMap(({ status, scope, file, source, reason }): Finding[] => {
    if (status === "broken") {
      const problem = `The servers of ${source} cannot be read. ${reason}`;
      return [{ severity: "broken", code: "SOURCE_BROKEN", problem, fix: `Correct ${file} at that place.` }];
    }
    if (status !== "missing" || scope !== "config") return [];
    const fix = `Create it, or remove it from "sources" in the config.`;
    return [{ severity: "broken", code: "SOURCE_BROKEN", problem: `${file}: there is no such file.`, fix }];
  });
}

const fixes: Readonly<Record<string, string>> = {
  ENTRY_INVALID: "Correct the entry there, or remove it.",
  SAME_NAME: "Give one of them another name if you want both.",
};

function checkEntries({ warnings }: Collected): Finding[] {
  return warnings.flatMap(({ code, message: problem }): Finding[] => {
    if (Object.hasOwn(leftOut, code)) return [];
    const fix = fixes[code];
    const severity = code === "ENTRY_INVALID" ? "broken" : "doubt";
    return [{ severity, code, problem, ...(fix !== undefined && { fix }) }];
  });
}

/** Entries that are left out on purpose: every client has toolpipe itself, and several have the same servers. */
const leftOut: Readonly<Record<string, string>> = {
  SELF: "are this gateway itself and are left out",
  DUPLICATE: "are the same as others and are left out",
};

function checkLeftOut({ warnings }: Collected): Finding[] {
  return Object.entries(leftOut).flatMap(([code, what]): Finding[] => {
    const found = warnings.filter((warning) => warning.code === code);
    const [first] = found;
    if (!first) return [];
    const problem = found.length === 1 ? first.message : `${found.length} entries of clients ${what}.`;
    return [{ severity: "note", code, problem }];
  });
}

async function checkState({ services: { state } }: Gateway): Promise<Finding[]> {
  const damaged = (await state?.listDamaged?.()) ?? [];
  return damaged.map(
    (location): Finding => ({
      severity: "broken",
      code: "STATE_DAMAGED",
      problem: `The stored record ${location} cannot be read. Calls that depend on it are refused.`,
      fix: "Restore it from a backup, or delete it if what it recorded no longer matters.",
    }),
  );
}

function checkTools(gateway: Gateway): Finding[] {
  return listStatuses(gateway).flatMap(({ name, listing }): Finding[] => {
    const rejected = listing?.rejected ?? [];
    const [first] = rejected;
    if (!first) return [];
    const more = rejected.length > 1 ? `, and ${rejected.length - 1} more` : "";
    const problem = `${formatCount(rejected.length, "tool")} of "${name}" cannot be used: "${first.name}" (${first.reason})${more}.`;
    return [
      {
        severity: "doubt",
        code: "TOOL_REJECTED",
        problem,
        fix: `See all: toolpipe why ${quoteForShell(name)}`,
      },
    ];
  });
}

/** Tools that were changed, or whose texts hide something or give orders to a model. */
function checkHeldTools(gateway: Gateway): Finding[] {
  return gateway.catalog.tools().flatMap(({ id, isHeld, disabledBecause }): Finding[] => {
    if (!isHeld || disabledBecause === undefined) return [];
    const [problem = "", fix] = disabledBecause.split(" Approve it with: ");
    return [
      {
        severity: "doubt",
        code: "TOOL_HELD",
        problem: toTerminalLine(`"${id}" is held back. ${problem}`),
        ...(fix !== undefined && { fix: `Read its definition. If you trust it: ${fix}` }),
      },
    ];
  });
}

async function checkRules(gateway: Gateway): Promise<Finding[]> {
  const where = gateway.configFile ?? "the config";
  return ((await gateway.services.rules?.diagnose()) ?? []).map((found) => ({
    severity: "doubt",
    code: "RULE_DOUBTFUL",
    problem: formatRuleReport(found),
    fix: `Correct the rule under "toolRules" in ${where}; "toolpipe tools --all" lists the names there are.`,
  }));
}
