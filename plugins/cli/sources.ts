import type { Gateway } from "../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../core/services/command.ts";
import type { Collected, CollectedFile } from "../../core/services/sources.ts";
import { counted, output, shownPath } from "../lib/terminal/output.ts";
import { openGateway } from "./context.ts";

/** Lists where servers come from, and what is wrong there. */
export const sources: Command = defineCommand({
  args: {
    all: { type: "boolean", description: "Also list files that are not there" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given) {
    await openGateway(given, async (gateway) => {
      const { servers, files, warnings } = await sourcesOf(gateway);
      const listed = files.filter(({ status }) => given.all || status !== "missing");
      output(given.json, { files: listed, warnings, servers: servers.length }, () =>
        describe({ servers, files: listed, warnings }),
      );
    });
  },
});

/** The files that servers come from. The config itself is one of them. */
async function sourcesOf({ services, configFile }: Gateway): Promise<Collected> {
  const collected = (await services.sources?.collect()) ?? { servers: [], files: [], warnings: [] };
  if (configFile === undefined) return collected;
  const count = collected.servers.filter(({ origin }) => origin.source === "inline").length;
  const own: CollectedFile = { source: "config", file: configFile, scope: "config", status: "read", count };
  return { ...collected, files: [own, ...collected.files] };
}

/** What became of a file, as the specification shows it; more is said only of what was read. */
export function describeFile(found: CollectedFile, more = ""): string {
  const { source, file, status, reason = "not found" } = found;
  if (status === "read") return `  ✓ ${source} (${shownPath(file)})${more}`;
  // The reason begins with the file and, where that is known, the line in it.
  const rest = reason.startsWith(file) ? reason.slice(file.length) : `: ${reason}`;
  const [, line = "", fault] = /^((?::\d+)*): (.*)$/s.exec(rest) ?? [];
  return `  ✗ ${source} (${shownPath(file)}${line}) - ${fault}`;
}

function describe({ servers, files, warnings }: Collected): string {
  if (files.length === 0) {
    return "There is no file that servers could come from. --all lists where they are looked for.\n";
  }
  const head = `Sources (${files.length}), ${counted(servers.length, "server")} in use:`;
  const lines = files.map((found) => describeFile(found, ` - ${counted(found.count, "server")}`));
  const notes = warnings.map(({ message }) => `  ! ${message}`);
  return `${[head, ...lines, ...notes].join("\n")}\n`;
}
