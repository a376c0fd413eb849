import { type CommandDef, defineCommand } from "citty";
import { add } from "./registry-add.ts";
import { search } from "./registry-search.ts";
import { show } from "./registry-show.ts";
import { sync } from "./registry-sync.ts";

/** Finds servers in MCP registries, and adds them. */
export const registry: CommandDef = defineCommand({
  meta: { name: "registry", description: "Find servers in MCP registries, and add them to your config" },
  subCommands: { search, show, add, sync },
});
