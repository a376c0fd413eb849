/**
 * The command line: `toolpipe …`, and the same commands as `anygpt mcp …`.
 *
 * @module
 */
export { anygptProgram, toolpipeProgram } from "./commands.ts";
export { main } from "./main.ts";
