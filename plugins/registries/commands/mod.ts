import type { CommandTable } from "../../../core/services/command.ts";

/** Commands for the servers that MCP registries list. */
export const registryCommands: CommandTable = {
  registry: {
    description: "Find servers in MCP registries, and add them to your config",
    commands: {
      search: {
        description: "Search the servers of MCP registries, without a network after a sync",
        load: () => import("./search.ts").then((module) => module.command),
      },
      show: {
        description:
          "Show a server of a registry: what it is, how it would be started, what it needs to know",
        load: () => import("./show.ts").then((module) => module.command),
      },
      add: {
        description:
          "Add a server of a registry to your config, after showing what that would be; secrets stay out of it",
        load: () => import("./add.ts").then((module) => module.command),
      },
      sync: {
        description:
          "Copy what MCP registries list to this machine; after the first time, only what has changed",
        load: () => import("./sync.ts").then((module) => module.command),
      },
    },
  },
};
