#!/usr/bin/env node
import { keepCompiled } from "./keep-compiled.ts";

// Before anything else is loaded: only what comes after it is kept.
keepCompiled();
const [{ anygpt }, { runAsProcess }] = await Promise.all([import("./commands.ts"), import("./main.ts")]);
await runAsProcess(anygpt, ["mcp", "serve"]);
