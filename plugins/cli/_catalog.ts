import type { Gateway, LoadedConfig, Plugin } from "../../core/mod.ts";
import { type ConfigArgs, loadCliConfig, withGateway } from "./_gateway.ts";
import { writeNames } from "./_names.ts";
import { serversOf, toolsOf, waitingLine } from "./_servers.ts";

/** Opens the gateway of a config for a command. What it came to know of names is there for the shell to complete. */
export async function withCatalog<T>(
  given: ConfigArgs,
  use: (gateway: Gateway, config: LoadedConfig) => Promise<T>,
  extra: (config: LoadedConfig) => readonly Plugin[] = () => [],
): Promise<T> {
  // A config may be a program, and plugins may take their time.
  const done = waitingLine("Reading the config …");
  try {
    const config = await loadCliConfig(given);
    return await withGateway(
      config,
      async (gateway) => {
        done();
        try {
          return await use(gateway, config);
        } finally {
          await rememberNames(gateway);
        }
      },
      extra(config),
    );
  } finally {
    done();
  }
}

async function rememberNames(gateway: Gateway): Promise<void> {
  // Whoever wants nothing to be kept means this, too.
  if (!gateway.services.cache) return;
  const names = serversOf(gateway).map(({ name }): [string, string[]] => [
    name,
    toolsOf(gateway, name).flatMap((tool) => (tool.enabled ? [tool.name] : [])),
  ]);
  await writeNames(gateway.configFile ?? process.cwd(), Object.fromEntries(names));
}
