#!/usr/bin/env node
import { anygpt } from "./commands.ts";
import { runAsProcess } from "./main.ts";

await runAsProcess(anygpt, ["mcp", "serve"]);
