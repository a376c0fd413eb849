import type { CommandTable } from "../../../core/services/command.ts";

/** Commands that find out what servers offer. */
export const discoveryCommands: CommandTable = {
  warm: {
    description:
      "Ask all servers, or those named, for their tools ahead of time, so that they are cached; exit code 3 if one fails",
    load: () => import("./warm.ts").then((module) => module.warm),
  },
  discover: {
    description: "Find servers that can do something: your own first, then those that a registry knows",
    load: () => import("./discover.ts").then((module) => module.discover),
  },
  introspect: {
    description:
      "Look at a server without adding it: its tools are written to files that wait for your approval",
    load: () => import("./introspect.ts").then((module) => module.introspect),
  },
  export: {
    description: "Write the tools of your servers to files, one a tool",
    load: () => import("./export.ts").then((module) => module.exportCommand),
  },
};
