/**
 * The command line: `toolpipe …`, and the same commands as `anygpt mcp …`.
 *
 * @module
 */
export { anygptProgram, toolpipeProgram } from "./commands.ts";
export { isSwitchedOff } from "./config-files.ts";
export { addPlugins, loadCliConfig, loadServeConfig } from "./context.ts";
export { main } from "./main.ts";
