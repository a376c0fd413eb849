import { type Gateway, localTools, type Plugin, type Preset, textResult } from "../../core/mod.ts";
import { type AuditSink, audit, type MemorySink, memorySink } from "../../plugins/audit/mod.ts";
import { demo } from "../../plugins/demo.ts";
import { openGateway } from "../support/open-gateway.ts";

/** A server whose tools are awkward: failing, undescribed, or with schemas that are none. */
export const odd: Plugin = localTools("odd", { id: "odd", title: "Odd tools" }, [
  {
    name: "broken",
    title: "Broken",
    description: "Fails. Always.",
    inputSchema: { type: "object" },
    run: () => ({ ...textResult("no"), isError: true }),
  },
  { name: "bare", inputSchema: {}, run: () => textResult("ok") },
  {
    name: "faulty",
    description: "Has a schema that makes no sense!",
    inputSchema: {
      properties: {
        a: null,
        b: true,
        c: { type: ["string", "null"], description: { toString: 1 } },
        d: { type: 5 },
      },
      required: "a",
    },
    run: () => textResult("ok"),
  },
]);

/** Opens a preset over the demo server and the odd one, with its audit records of calls that are over at hand. */
export async function openPreset(
  preset: Preset,
): Promise<{ gateway: Gateway; records: MemorySink["records"] }> {
  const sink = memorySink();
  const gateway = await openGateway({
    preset,
    plugins: [demo(), odd],
    options: {
      [audit.pluginName]: {
        sink: {
          ...sink,
          write: (record) => (record.event === "intent" ? undefined : sink.write(record)),
        } satisfies AuditSink,
      },
    },
  });
  return { gateway, records: sink.records };
}
