import type { Gateway } from "../../../core/mod.ts";
import { configArgs, defineCommand } from "../../../core/services/command.ts";
import type { Collected, CollectedFile } from "../../../core/services/sources.ts";
import { formatCount, formatPath, output } from "../../lib/terminal/output.ts";
import { openGateway } from "../context.ts";

/** Lists the files that servers come from, and their problems. */
export const command = defineCommand({
  args: {
    all: { type: "boolean", description: "Also list files that are not there" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given) {
    await openGateway(given, async (gateway) => {
      const { servers, files, warnings } = await collectSources(gateway);
      const listed = files.filter(({ status }) => given.all || status !== "missing");
      output(given.json, { files: listed, warnings, servers: servers.length }, () =>
        describe({ servers, files: listed, warnings }),
      );
    });
  },
});

/** Collects the files that servers come from, the config itself included. */
async function collectSources({ services, configFile }: Gateway): Promise<Collected> {
  const collected = (await services.sources?.collect()) ?? { servers: [], files: [], warnings: [] };
  if (configFile === undefined) return collected;
  const count = collected.servers.filter(({ origin }) => origin.source === "inline").length;
  const own: CollectedFile = { source: "config", file: configFile, scope: "config", status: "read", count };
  return { ...collected, files: [own, ...collected.files] };
}

/** Describes a file in the format of the specification; `more` is added to one that was read. */
export function describeFile(found: CollectedFile, more = ""): string {
  const { source, file, status, reason = "not found" } = found;
  if (status === "read") return `  ✓ ${source} (${formatPath(file)})${more}`;
  // The reason begins with the file and, if known, the line.
  const rest = reason.startsWith(file) ? reason.slice(file.length) : `: ${reason}`;
  const [, line = "", fault] = /^((?::\d+)*): (.*)$/s.exec(rest) ?? [];
  return `  ✗ ${source} (${formatPath(file)}${line}) - ${fault}`;
}

function describe({ servers, files, warnings }: Collected): string {
  if (files.length === 0) {
    return "No file with servers was found. --all lists the files that are tried.\n";
  }
  const head = `Sources (${files.length}), ${formatCount(servers.length, "server")} in use:`;
  const lines = files.map((found) => describeFile(found, ` - ${formatCount(found.count, "server")}`));
  const notes = warnings.map(({ message }) => `  ! ${message}`);
  return `${[head, ...lines, ...notes].join("\n")}\n`;
}
