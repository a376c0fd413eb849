import { Buffer } from "node:buffer";
import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import * as v from "valibot";
import { type Actor, type Gateway, GatewayError } from "../../core/mod.ts";
import type { Asset } from "../../playground/assets.ts";
import type {} from "../auth/mod.ts";
import { tokenMeter } from "../metrics/tokens.ts";
import { Refusal } from "../serve/_http-refusal.ts";
import { pathOf, readJson } from "../serve/_http-request.ts";
import { pageHeaders } from "../serve/page-headers.ts";
import { offerRoute } from "../serve/routes.ts";
import { overviewOf } from "./overview.ts";
import { pendingApprovals } from "./pending.ts";
import type { Watching } from "./watching.ts";

const LIMITS = { bytes: 20_000, depth: 4 };
/** The header that a page of a stranger cannot know, nor send without asking. */
const TOKEN = "x-toolpipe-token";

const decision = v.strictObject({
  kind: v.picklist(["server", "tool"]),
  name: v.string(),
  hash: v.string(),
  grant: v.boolean(),
});

/** What the routes are made with. */
export interface ServingParts {
  readonly gateway: Gateway;
  readonly watching: Watching;
  /** What a caller needs, where callers are known. */
  readonly scope: string;
  /** Whether decisions are taken where nobody is known. */
  readonly decideWithoutTokens: boolean;
}

/**
 * Offers the page at `/`, its files below `/dashboard/`, what it shows at `/dashboard/data`, and takes decisions at
 * `/dashboard/decide`. The page itself is the same for everybody and holds nothing; all else is for who may see it.
 */
export function serveDashboard(parts: ServingParts): void {
  const { gateway, watching, scope, decideWithoutTokens } = parts;
  const token = randomBytes(24).toString("base64url");
  const boot = randomBytes(8).toString("hex");
  const pending = pendingApprovals(gateway);
  const tokens = tokenMeter(gateway);
  let assets: Promise<ReadonlyMap<string, Asset>> | undefined;

  const file = async (name: string, response: ServerResponse): Promise<void> => {
    assets ??= import("./assets.ts").then(({ dashboardAssets }) => dashboardAssets());
    const asset = (await assets).get(name);
    if (!asset) throw new Refusal(404, "There is nothing at this address.");
    response.writeHead(200, { ...pageHeaders, "content-type": asset.type }).end(await asset.read());
  };

  offerRoute(gateway, "/", { open: true, handle: (_, response) => file("index.html", response) });
  offerRoute(gateway, "/dashboard/*", {
    open: true,
    handle: (request, response) => file(pathOf(request).slice("/dashboard/".length), response),
  });
  offerRoute(gateway, "/dashboard/data", {
    async handle(request, response, actor) {
      checkActor(actor);
      const since = Number(new URLSearchParams((request.url ?? "").split("?")[1]).get("since") ?? 0);
      const shown = { gateway, watching, boot, token, actor, since: Number.isFinite(since) ? since : 0 };
      const [waiting, saving] = await Promise.all([pending.list(), tokens()]);
      sendJson(response, 200, overviewOf({ ...shown, pending: waiting, tokens: saving }));
    },
  });
  offerRoute(gateway, "/dashboard/decide", {
    methods: ["POST"],
    async handle(request, response, actor) {
      checkActor(actor);
      checkKnown();
      checkOrigin(request);
      checkToken(request.headers[TOKEN]);
      const parsed = v.safeParse(decision, await readJson(request, LIMITS));
      if (!parsed.success) throw new Refusal(400, "This is no decision.");
      try {
        await pending.decide(parsed.output);
      } catch (thrown) {
        if (!GatewayError.is(thrown) || thrown.code !== "INVALID_ARGUMENTS") throw thrown;
        throw new Refusal(409, thrown.message);
      }
      sendJson(response, 200, { pending: await pending.list() });
    },
  });

  function checkActor(actor: Actor | undefined): void {
    if (!gateway.services.auth || actor?.scopes.includes(scope)) return;
    throw new Refusal(403, `The dashboard is for callers whose token has the scope "${scope}".`);
  }

  function checkKnown(): void {
    if (gateway.services.auth || decideWithoutTokens) return;
    throw new Refusal(
      403,
      "Nothing is decided here while callers need no token: use `toolpipe approve`, or serve with `auth`.",
    );
  }

  function checkToken(given: string | readonly string[] | undefined): void {
    const [own, other] = [Buffer.from(token), Buffer.from(String(given ?? ""))];
    if (own.length === other.length && timingSafeEqual(own, other)) return;
    throw new Refusal(403, "This was not sent by the dashboard as it is now. Load the page again.");
  }
}

/** A browser says where the page is from that sends something; whatever does not is no browser. */
function checkOrigin({ headers }: IncomingMessage): void {
  const { origin, host, "sec-fetch-site": site } = headers;
  const isOwn = origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
  if (isOwn && (site === undefined || site === "same-origin")) return;
  throw new Refusal(403, "Decisions are taken from the dashboard itself only.");
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response
    .writeHead(status, { ...pageHeaders, "content-type": "application/json; charset=utf-8" })
    .end(JSON.stringify(value));
}
