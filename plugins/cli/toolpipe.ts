#!/usr/bin/env node
import { keepCompiled } from "./keep-compiled.ts";

// Before anything else is loaded: only what comes after it is kept.
keepCompiled();
const [{ toolpipe }, { runAsProcess }] = await Promise.all([import("./commands.ts"), import("./main.ts")]);
await runAsProcess(toolpipe, ["serve"]);
