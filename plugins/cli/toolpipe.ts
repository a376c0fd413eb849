#!/usr/bin/env node
import { keepCompiled } from "./keep-compiled.ts";

// First: only modules loaded after it are cached.
keepCompiled();
const [{ toolpipeProgram }, { runAsProcess }] = await Promise.all([
  import("./commands.ts"),
  import("./main.ts"),
]);
await runAsProcess(toolpipeProgram, ["serve"]);
