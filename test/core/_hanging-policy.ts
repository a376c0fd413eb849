import { createGateway } from "../../core/mod.ts";

const hanging = { name: "hanging", setup: () => ({ policy: () => new Promise<void>(() => {}) }) };
const gateway = await createGateway({ plugins: [hanging], limits: { hookMs: 30 } });
await gateway.catalog.replace({ id: "s" }, [{ name: "t", inputSchema: {} }]);
const { error } = await gateway.run({ tool: "s:t" });
process.stdout.write(`${error?.message}\n`);
