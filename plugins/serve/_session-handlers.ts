import { cacheable, type Handlers, invalid, notFound } from "./_handler.ts";
import { levelOf } from "./_logging.ts";
import { capabilitiesOf, infoOf, type Session } from "./_session.ts";
import type { Front } from "./front.ts";
import { legacyVersions, modernVersions, serverInfo } from "./protocol.ts";

/** What clients ask of the server as a whole. */
export function sessionHandlers(
  front: Pick<Front, "resources" | "prompts" | "changes" | "logs">,
  session: Session,
  instructions: (client?: Session["info"]) => string | undefined,
): Handlers {
  const described = (client: Session["info"]): { instructions?: string } => {
    const text = instructions(client);
    return text ? { instructions: text } : {};
  };

  return {
    initialize({ protocolVersion, capabilities, clientInfo }) {
      session.capabilities = capabilitiesOf(capabilities);
      session.info = infoOf(clientInfo);
      const wanted = String(protocolVersion);
      const agreed = legacyVersions.includes(wanted) ? wanted : legacyVersions[0];
      return { protocolVersion: agreed, capabilities: offered(), serverInfo, ...described(session.info) };
    },
    "server/discover": (_params, { modern, info }) => {
      if (!modern) throw notFound("server/discover");
      const about = described(info);
      return { supportedVersions: modernVersions, capabilities: offered(), ...about, ...cacheable };
    },
    ping: (_params, { modern }) => {
      if (modern) throw notFound("ping");
      return {};
    },
    "logging/setLevel": ({ level }, { modern }) => {
      if (modern || !front.logs()) throw notFound("logging/setLevel");
      const wanted = levelOf(level);
      if (!wanted) throw invalid("This is not a level of messages.");
      session.level = wanted;
      return {};
    },
  };

  /** Only what there is: a client shows its user what a server says it has. */
  function offered(): object {
    const [resources, prompts, changes] = [front.resources(), front.prompts(), front.changes()];
    return {
      tools: { listChanged: true },
      ...(front.logs() && { logging: {} }),
      ...(resources && {
        resources: {
          ...(resources.canWatch && { subscribe: true }),
          ...(changes.has("resources") && { listChanged: true }),
        },
      }),
      ...(prompts && { prompts: { ...(changes.has("prompts") && { listChanged: true }) } }),
      ...(prompts?.canComplete && { completions: {} }),
    };
  }
}
