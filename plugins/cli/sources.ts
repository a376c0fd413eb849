import type { CommandDef } from "citty";
import type { Gateway } from "../../core/mod.ts";
import type { Collected, CollectedFile } from "../sources/mod.ts";
import { withCatalog } from "./_catalog.ts";
import { command } from "./_command.ts";
import { configArgs } from "./_gateway.ts";
import { output } from "./_output.ts";
import { counted, shownPath } from "./_shown.ts";

/** Lists where servers come from, and what is wrong there. */
export const sources: CommandDef = command({
  name: "sources",
  description: "List the files that servers come from, and what is wrong in them",
  args: {
    all: { type: "boolean", description: "Also list files that are not there" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given) {
    await withCatalog(given, async (gateway) => {
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
