import type { Gateway } from "../../../core/mod.ts";
import { counted, shownLine } from "../../lib/terminal/output.ts";
import { statusesOf } from "../../lib/terminal/servers.ts";
import type { Collected } from "../../sources/mod.ts";
import { shellWord } from "../remedy.ts";

/** Something about files and rules, which belongs to no server that could be started. */
export interface Finding {
  /** A doubt may not be what was meant; a note is as it should be. */
  readonly severity: "broken" | "doubt" | "note";
  readonly code: string;
  readonly problem: string;
  readonly fix?: string;
}

/** What is wrong, or may not be what was meant, besides the servers themselves. */
export async function findingsOf(gateway: Gateway): Promise<readonly Finding[]> {
  const collected = (await gateway.services.sources?.collect()) ?? { servers: [], files: [], warnings: [] };
  return [
    ...aboutFiles(collected),
    ...aboutEntries(collected),
    ...aboutLeftOut(collected),
    ...aboutTools(gateway),
    ...aboutRules(gateway),
  ].map((finding) => ({ ...finding, problem: shownLine(finding.problem) }));
}

function aboutFiles({ files }: Collected): Finding[] {
  return files.flatMap(({ status, scope, file, source, reason }): Finding[] => {
    if (status === "broken") {
      const problem = `The servers of ${source} cannot be read. ${reason}`;
      return [{ severity: "broken", code: "SOURCE_BROKEN", problem, fix: `Correct ${file} at that place.` }];
    }
    if (status !== "missing" || scope !== "config") return [];
    const fix = `Make it, or take it out of "sources" in the config.`;
    return [{ severity: "broken", code: "SOURCE_BROKEN", problem: `${file}: there is no such file.`, fix }];
  });
}

const fixes: Readonly<Record<string, string>> = {
  ENTRY_INVALID: "Correct it there, or take it out.",
  SAME_NAME: "Give one of them another name if you want both.",
};

function aboutEntries({ warnings }: Collected): Finding[] {
  return warnings.flatMap(({ code, message: problem }): Finding[] => {
    if (Object.hasOwn(leftOut, code)) return [];
    const fix = fixes[code];
    const severity = code === "ENTRY_INVALID" ? "broken" : "doubt";
    return [{ severity, code, problem, ...(fix !== undefined && { fix }) }];
  });
}

/** What is left out as it should be: every client names toolpipe itself, and several of them the same servers. */
const leftOut: Readonly<Record<string, string>> = {
  SELF: "are this gateway itself and are left out",
  DUPLICATE: "are the same as others and are left out",
};

function aboutLeftOut({ warnings }: Collected): Finding[] {
  return Object.entries(leftOut).flatMap(([code, what]): Finding[] => {
    const found = warnings.filter((warning) => warning.code === code);
    const [first] = found;
    if (!first) return [];
    const problem = found.length === 1 ? first.message : `${found.length} entries of clients ${what}.`;
    return [{ severity: "note", code, problem }];
  });
}

function aboutTools(gateway: Gateway): Finding[] {
  return statusesOf(gateway).flatMap(({ name, listing }): Finding[] => {
    const rejected = listing?.rejected ?? [];
    const [first] = rejected;
    if (!first) return [];
    const more = rejected.length > 1 ? `, and ${rejected.length - 1} more` : "";
    const problem = `${counted(rejected.length, "tool")} of "${name}" cannot be used: "${first.name}" (${first.reason})${more}.`;
    return [
      { severity: "doubt", code: "TOOL_REJECTED", problem, fix: `See all: toolpipe why ${shellWord(name)}` },
    ];
  });
}

function aboutRules(gateway: Gateway): Finding[] {
  const { rules } = gateway.services;
  if (!rules) return [];
  // Before all tools are known, a rule may well match one of the others.
  const areKnown = statusesOf(gateway).every(({ listedAt }) => listedAt !== undefined);
  const where = gateway.configFile ?? "the config";
  return [...rules.doubts(), ...(areKnown ? rules.unmatched() : [])].map(({ rule, pattern, reason }) => ({
    severity: "doubt",
    code: "RULE_DOUBTFUL",
    problem: `Rule ${rule} (${pattern.join(", ")}): ${reason}`,
    fix: `Correct it under "toolRules" in ${where}; "toolpipe tools --all" lists the names there are.`,
  }));
}
