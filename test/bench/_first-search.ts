// Started by the benchmark "catalog": a cold process that answers one search and says what it took.
import { createGateway, loadConfig } from "../../core/mod.ts";
import { presets } from "../../presets/mod.ts";

const config = await loadConfig({ presets, file: process.argv[2] });
const gateway = await createGateway(config);
const call = await gateway.run({ tool: "anygpt:search_tools", args: { query: "list open issues" } });
const ms = performance.now();
const { user, system } = process.cpuUsage();
const memoryMb = process.memoryUsage().rss / 1e6;
const tools = gateway.catalog.tools().length;
process.stdout.write(JSON.stringify({ ok: call.ok, ms, cpuMs: (user + system) / 1000, memoryMb, tools }));
await gateway.close({ drainMs: 0 });
process.exit();
