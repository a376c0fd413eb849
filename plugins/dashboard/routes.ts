import { Buffer } from "node:buffer";
import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import * as v from "valibot";
import type { Actor, PluginGateway } from "../../core/mod.ts";
import { getPath, readJson } from "../lib/http/server-request.ts";
import { HttpRefusal } from "../lib/jsonrpc.ts";
import { type Asset, listFolderAssets, listPageAssets, pageHeaders, projectFolder } from "../lib/pages.ts";
import { createTokenMeter } from "../lib/tokens.ts";
import { type CallHistory, toDisplayText } from "./call-history.ts";
import { createOverview, listPending } from "./overview.ts";

const LIMITS = { bytes: 20_000, depth: 4 };
/** A page of another origin can neither know the value of this header, nor send it without a preflight. */
const TOKEN = "x-toolpipe-token";

const decision = v.strictObject({
  kind: v.string(),
  id: v.string(),
  hash: v.string(),
  grant: v.boolean(),
});

/**
 * Registers the page at `/`, its files below `/dashboard/`, its data at `/dashboard/data` and decisions at
 * `/dashboard/decide`. The page itself holds no data and is open; the rest needs the scope.
 */
export function registerDashboard(parts: {
  readonly gateway: PluginGateway;
  readonly history: CallHistory;
  /** The scope that a caller needs if authentication is configured. */
  readonly scope: string;
  /** Whether decisions are accepted without authentication. */
  readonly decideWithoutTokens: boolean;
}): void {
  const { gateway, history, scope, decideWithoutTokens } = parts;
  const token = randomBytes(24).toString("base64url");
  const boot = randomBytes(8).toString("hex");
  const tokens = createTokenMeter(gateway);
  let assets: Promise<ReadonlyMap<string, Asset>> | undefined;

  const file = async (name: string, response: ServerResponse): Promise<void> => {
    assets ??= listAssets();
    const asset = (await assets).get(name);
    if (!asset) throw new HttpRefusal(404, "There is nothing at this address.");
    response.writeHead(200, { ...pageHeaders, "content-type": asset.type }).end(await asset.read());
  };

  gateway.register("route", "/", { open: true, handle: (_, response) => file("index.html", response) });
  gateway.register("route", "/dashboard/*", {
    open: true,
    handle: (request, response) => file(getPath(request).slice("/dashboard/".length), response),
  });
  gateway.register("route", "/dashboard/data", {
    async handle(request, response, actor) {
      checkActor(actor);
      const since = Number(new URLSearchParams((request.url ?? "").split("?")[1]).get("since") ?? 0);
      const shown = { gateway, history, boot, token, actor, since: Number.isFinite(since) ? since : 0 };
      const [waiting, saving] = await Promise.all([listPending(gateway), tokens()]);
      sendJson(response, 200, createOverview({ ...shown, pending: waiting, tokens: saving }));
    },
  });
  gateway.register("route", "/dashboard/decide", {
    methods: ["POST"],
    async handle(request, response, actor) {
      checkActor(actor);
      checkKnown();
      checkOrigin(request);
      checkToken(request.headers[TOKEN]);
      const parsed = v.safeParse(decision, await readJson(request, LIMITS));
      if (!parsed.success)
        throw new HttpRefusal(400, "The request must hold kind, id, hash and grant of a decision.");
      const { id, grant, ...shown } = parsed.output;
      const decided = await gateway.services.approvals?.decide(id, grant, shown);
      // Only the definition that was shown is decided on: the item may have another by now.
      if (!decided?.length) {
        throw new HttpRefusal(
          409,
          `"${toDisplayText(id)}" does not wait for approval as it was shown. Look at it again.`,
        );
      }
      sendJson(response, 200, { pending: await listPending(gateway) });
    },
  });

  function checkActor(actor: Actor | undefined): void {
    if (!gateway.services.auth || actor?.scopes.includes(scope)) return;
    throw new HttpRefusal(403, `The dashboard is for callers whose token has the scope "${scope}".`);
  }

  function checkKnown(): void {
    if (gateway.services.auth || decideWithoutTokens) return;
    throw new HttpRefusal(
      403,
      "Decisions need authentication: use `toolpipe approve`, or serve with `auth`.",
    );
  }

  function checkToken(given: string | readonly string[] | undefined): void {
    const [own, other] = [Buffer.from(token), Buffer.from(String(given ?? ""))];
    if (own.length === other.length && timingSafeEqual(own, other)) return;
    throw new HttpRefusal(403, "The token of the page is not valid any more. Load the page again.");
  }
}

/** Browsers send the origin of the page with every POST; a request without it does not come from the page. */
function checkOrigin({ headers }: IncomingMessage): void {
  const { origin, host, "sec-fetch-site": site } = headers;
  const isOwn = origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
  if (isOwn && (site === undefined || site === "same-origin")) return;
  throw new HttpRefusal(403, "Decisions are accepted from the dashboard only.");
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response
    .writeHead(status, { ...pageHeaders, "content-type": "application/json; charset=utf-8" })
    .end(JSON.stringify(value));
}

/** Files of the playground that both pages use. */
const shared = new Set([
  "always.css",
  "base.css",
  "frame.css",
  "chart-look.js",
  "dom.js",
  "theme.js",
  "icon.svg",
  "uplot.js",
  "uplot.css",
]);

/** Lists the files of the dashboard by name, and no others: nothing else can be requested. */
async function listAssets(): Promise<ReadonlyMap<string, Asset>> {
  const others = [...(await listPageAssets())].filter(([name]) => shared.has(name));
  return new Map([...others, ...(await listFolderAssets(projectFolder("plugins/dashboard/page")))]);
}
