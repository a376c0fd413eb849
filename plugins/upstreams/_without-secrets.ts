import { GatewayError } from "../../core/mod.ts";
import { type Redact, redactError, redactor, redactResult } from "../logs/redact.ts";
import { secretArguments, secretsOf } from "../logs/secrets.ts";
import type { Connection } from "../sources/server-config.ts";
import type { McpUpstream } from "./mcp.ts";
import type { UpstreamEvents } from "./upstream.ts";

/**
 * Connects so that no secret that a server was given comes back in what it says of a failure: its error would be shown
 * to agents, written to logs and kept in the standing of the server.
 */
export async function withoutSecrets<Own extends McpUpstream>(
  connection: Connection,
  events: UpstreamEvents,
  connect: (events: UpstreamEvents) => Promise<Own>,
): Promise<Own> {
  const secrets = secretsOf(connection);
  const redact = redactor(secrets);
  const { onClosed } = events;
  const quiet: UpstreamEvents = {
    ...events,
    ...(onClosed && { onClosed: (reason: string) => onClosed(redact(reason)) }),
  };
  const upstream = await connect(quiet).catch((thrown: unknown) => Promise.reject(clean(thrown, redact)));
  const { request } = upstream;
  return {
    ...upstream,
    list: (...given) =>
      upstream.list(...given).catch((thrown: unknown) => Promise.reject(clean(thrown, redact))),
    call(name, args, options) {
      // Made only where something failed: most calls do not.
      const own = (): Redact => redactor([...secrets, ...secretArguments(args)]);
      return upstream.call(name, args, options).then(
        (result) => (result.isError === true ? redactResult(result, own()) : result),
        (thrown: unknown) => Promise.reject(clean(thrown, own())),
      );
    },
    ...(request && {
      request: (...given: Parameters<typeof request>) =>
        request(...given).catch((thrown: unknown) => Promise.reject(clean(thrown, redact))),
    }),
  };
}

function clean(thrown: unknown, redact: Redact): unknown {
  return GatewayError.is(thrown) ? redactError(thrown, redact) : thrown;
}
