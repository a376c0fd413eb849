#!/usr/bin/env node
import { toolpipe } from "./commands.ts";
import { runAsProcess } from "./main.ts";

await runAsProcess(toolpipe, ["serve"]);
