/**
 * A policy: denies every tool that its server does not mark as read-only, except those that the config allows.
 *
 * { "plugins": ["./policy.ts"], "options": { "read-only": { "allow": ["notes:append"] } } }
 */
import { defineError, definePlugin, GatewayError } from "toolpipe";
import * as v from "valibot";

const READ_ONLY = defineError("READ_ONLY", { exit: 4 });

export const readOnly = definePlugin({
  name: "read-only",
  errors: { READ_ONLY },
  options: v.strictObject({
    allow: v.optional(
      v.pipe(v.array(v.string()), v.description("Ids of tools that may be called all the same.")),
      [],
    ),
  }),
  setup: (_gateway, { allow }) => ({
    policy({ tool }) {
      // The tools of the gateway itself are not at stake: what they call passes here by itself.
      if (!tool || tool.builtin || tool.annotations?.readOnlyHint || allow.includes(tool.id)) return;
      throw new GatewayError(
        READ_ONLY,
        `"${tool.id}" may change something, and this gateway only reads. Add it to options.read-only.allow.`,
        { data: { tool: tool.id } },
      );
    },
  }),
});
