import { type Gateway, GatewayError } from "../../../core/mod.ts";
import { formatCount, toTerminalLine } from "../../lib/terminal/output.ts";
import { summarize } from "../../lib/text/shorten.ts";
import type { CapabilitySearch, CapableServer, DiscoveryFailure, ServerDiscovery } from "../mod.ts";

/** Most tools of one server in the output; `--json` has all of them. */
const MOST_TOOLS = 8;

/** Returns the discovery service, which the command has added to the gateway. */
export function findDiscovery({ services }: Gateway): ServerDiscovery {
  if (services.serverDiscovery) return services.serverDiscovery;
  throw new GatewayError("PLUGIN_INVALID", 'The plugin "server-discovery" is missing.');
}

/** Formats a failure for `--json`. */
export function failureJson({ server, error }: DiscoveryFailure): object {
  return { server, code: error.code, message: toTerminalLine(error.message) };
}

/** Returns servers of a registry that could not be asked: one of them may still be the right one. */
export function candidates({ from, failures }: CapabilitySearch): readonly DiscoveryFailure[] {
  return from === "registry" ? failures.filter(({ config }) => config?.origin.source === "registry") : [];
}

/** Formats the result of a search for `--json`. */
export function searchJson(found: CapabilitySearch): object {
  const servers = found.servers.map(({ config, tools, relevance }) => ({
    name: config.name,
    description: toTerminalLine(config.description ?? ""),
    ...(relevance !== undefined && { relevance: Math.round(relevance * 100) / 100 }),
    tools: tools.map(({ name, description, inputType, domains, categories }) => ({
      ...{ name, summary: summarize(description), inputType, domains, categories },
    })),
  }));
  const { from, leftOut, failures } = found;
  return { from, servers, ...(leftOut !== undefined && { leftOut }), failures: failures.map(failureJson) };
}

/** Formats the result of a search for the terminal. */
export function describeSearch(query: string, found: CapabilitySearch): string {
  const { from, servers, failures } = found;
  const open = candidates(found);
  const others = failures.filter((failure) => !open.includes(failure));
  const trouble = others.map(
    ({ server, error }) => `✗ ${toTerminalLine(server)}: ${toTerminalLine(error.message)}`,
  );
  if (servers.length === 0 && open.length === 0) {
    return `${[`No server is known that can do "${toTerminalLine(query)}".`, ...trouble].join("\n")}\n`;
  }
  const blocks = [
    from === "configured"
      ? `Of your own servers, ${formatCount(servers.length, "server")} can do "${toTerminalLine(query)}":`
      : `A registry knows ${formatCount(servers.length + open.length, "server")} for "${toTerminalLine(query)}":`,
    ...servers.map(serverBlock),
    ...open.map(
      ({ config, server, error }) =>
        `${toTitle(server, config?.description)}\n  - Not asked: ${toTerminalLine(error.message)}`,
    ),
    ...(trouble.length > 0 ? [trouble.join("\n")] : []),
    ...(found.leftOut ? [`${formatCount(found.leftOut, "more server")} left out; take all with --all`] : []),
    ...(from === "registry"
      ? ["Look at one: toolpipe registry show NAME. Add it: toolpipe registry add NAME"]
      : []),
  ];
  return `${blocks.join("\n\n")}\n`;
}

function serverBlock({ config, tools }: CapableServer): string {
  const listed = tools.slice(0, MOST_TOOLS).map(({ name, description }) => {
    const summary = toTerminalLine(summarize(description));
    return `  ${toTerminalLine(name)}${summary ? `: ${summary}` : ""}`;
  });
  const more =
    tools.length > MOST_TOOLS ? [`  and ${formatCount(tools.length - MOST_TOOLS, "more tool")}`] : [];
  return [toTitle(config.name, config.description), ...listed, ...more].join("\n");
}

function toTitle(name: string, description: string | undefined): string {
  const about = toTerminalLine(summarize(description));
  return about ? `${toTerminalLine(name)}: ${about}` : toTerminalLine(name);
}
