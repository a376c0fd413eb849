import { summaryOf } from "../../presets/_anygpt/shorten.ts";
import type { CapabilitySearch, DiscoveryFailure, FoundServer } from "../discovery/mod.ts";
import { failureJson } from "./_discovering.ts";
import { counted, shownLine } from "./_shown.ts";

/** Tools of one server that are shown; `--json` has all of them. */
const MOST_TOOLS = 8;

/** What a registry names and nobody asked may still be the right one. */
export function candidates({ from, failures }: CapabilitySearch): readonly DiscoveryFailure[] {
  return from === "registry" ? failures.filter(({ config }) => config?.origin.source === "registry") : [];
}

/** What was found, for `--json`. */
export function searchJson(found: CapabilitySearch): object {
  const servers = found.servers.map(({ config, tools, relevance }) => ({
    name: config.name,
    description: shownLine(config.description ?? ""),
    ...(relevance !== undefined && { relevance: Math.round(relevance * 100) / 100 }),
    tools: tools.map(({ name, description, inputType, domains, categories }) => ({
      ...{ name, summary: summaryOf(description), inputType, domains, categories },
    })),
  }));
  return { from: found.from, servers, failures: found.failures.map(failureJson) };
}

/** What was found, for a person. */
export function describeSearch(query: string, found: CapabilitySearch): string {
  const { from, servers, failures } = found;
  const open = candidates(found);
  const others = failures.filter((failure) => !open.includes(failure));
  const trouble = others.map(({ server, error }) => `✗ ${shownLine(server)}: ${shownLine(error.message)}`);
  if (servers.length === 0 && open.length === 0) {
    return `${[`No server is known that can do "${shownLine(query)}".`, ...trouble].join("\n")}\n`;
  }
  const blocks = [
    from === "configured"
      ? `Of your own servers, ${counted(servers.length, "server")} can do "${shownLine(query)}":`
      : `A registry knows ${counted(servers.length + open.length, "server")} for "${shownLine(query)}":`,
    ...servers.map(serverBlock),
    ...open.map(
      ({ config, server, error }) =>
        `${titleOf(server, config?.description)}\n  - Not asked: ${shownLine(error.message)}`,
    ),
    ...(trouble.length > 0 ? [trouble.join("\n")] : []),
    ...(from === "registry"
      ? ["Look at one: toolpipe registry show NAME. Add it: toolpipe registry add NAME"]
      : []),
  ];
  return `${blocks.join("\n\n")}\n`;
}

function serverBlock({ config, tools }: FoundServer): string {
  const shown = tools.slice(0, MOST_TOOLS).map(({ name, description }) => {
    const summary = shownLine(summaryOf(description));
    return `  ${shownLine(name)}${summary ? `: ${summary}` : ""}`;
  });
  const more = tools.length > MOST_TOOLS ? [`  and ${counted(tools.length - MOST_TOOLS, "more tool")}`] : [];
  return [titleOf(config.name, config.description), ...shown, ...more].join("\n");
}

function titleOf(name: string, description: string | undefined): string {
  const about = shownLine(summaryOf(description));
  return about ? `${shownLine(name)}: ${about}` : shownLine(name);
}
