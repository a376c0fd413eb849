// Started by the benchmark "openapi": a process that reads one document, answers one search and says what it took.
import { createGateway } from "../../core/mod.ts";
import { openapi } from "../../plugins/openapi/mod.ts";
import { search } from "../../plugins/search/mod.ts";

const cpuBefore = process.cpuUsage();
const before = performance.now();
const adapters = { api: { document: process.argv[2] ?? "" } };
const gateway = await createGateway({ plugins: [search(), openapi({ adapters })] });
const found = await gateway.services.search?.("change or create a payment order");
const ms = performance.now() - before;
const { user, system } = process.cpuUsage(cpuBefore);
if (!found || found.hits.length === 0) throw new Error("Nothing was found.");
const memoryMb = process.resourceUsage().maxRSS / 1000;
const tools = gateway.catalog.tools().length;
process.stdout.write(JSON.stringify({ ms, cpuMs: (user + system) / 1000, memoryMb, tools }));
await gateway.close({ drainMs: 0 });
