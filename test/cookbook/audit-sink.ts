/**
 * An audit sink: sends every record as JSON to a web service.
 *
 * { "audit": { "sink": { "type": "./audit-sink.ts", "url": "https://logs.example.com/toolpipe" } } }
 */
import type { AuditSinkDriver } from "toolpipe/services";

export const sink: AuditSinkDriver = ({ url, timeoutMs = 5_000 }) => {
  // A wrong URL is a mistake in the config: better an error at the start than with the first call.
  const target = new URL(String(url));
  return {
    /** A record counts as safe once the service has confirmed it; the audit reports errors thrown here. */
    async write(record) {
      const response = await fetch(target, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(record),
        signal: AbortSignal.timeout(Number(timeoutMs)),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`${target.host} answered with the status ${response.status}.`);
    },
    // Every write has been waited for when this is called.
    close() {},
  };
};
