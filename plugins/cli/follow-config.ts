import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { type Gateway, GatewayError, type LoadedConfig } from "../../core/mod.ts";
import { waitAtMost } from "../lib/backoff.ts";
import { hashServer } from "../lib/hash.ts";
import { isHeld, listServerRows, listStatuses, toShownStatus } from "../lib/servers.ts";
import type { ReloadOutcome, RunningServer } from "./gateway-requests.ts";
import type { Announcement } from "./running-gateways.ts";

/** A served gateway whose config can be replaced. */
export interface FollowedGateway {
  readonly gateway: Gateway;
  /** `stdio`, or the URL it is served at. */
  readonly how: string;
  /** Rejects and changes nothing if the config cannot be used. */
  reload(config: LoadedConfig): Promise<void>;
}

/** Handle of {@link followConfig}. */
export interface Following {
  /** Reads the config again. Prints the failure and rejects if the old config stays in use. */
  reload(): Promise<void>;
  end(): void;
}

/** A reload is answered with the number of tools, but does not wait longer than this for slow servers. */
const MAX_LISTING_MS = 2_000;

/** Prints how the operations are exposed, where the preset has several ways. */
export function announceMode({ services }: Gateway): void {
  const mode = services.mode?.();
  if (mode) process.stderr.write(`toolpipe: ${mode.describe()}\n`);
}

/** Reads the config again when its file changes or `toolpipe config reload` asks for it. */
export function followConfig(
  config: LoadedConfig,
  served: FollowedGateway,
  load: () => Promise<LoadedConfig>,
): Following {
  let announcement: Announcement | undefined;
  let ended = false;
  let file = config.configFile;
  let unwatch = watch();

  const reload = async (): Promise<void> => {
    try {
      const next = await load();
      await served.reload(next);
      const moved =
        next.configFile === file
          ? ""
          : ` ${next.configFile ?? "No config"} serves in place of ${file ?? "no config"}.`;
      process.stderr.write(`toolpipe: the config was reloaded.${moved}\n`);
      announceMode(served.gateway);
      moveTo(next);
    } catch (thrown) {
      const error = GatewayError.from(thrown, "The config cannot be read.");
      process.stderr.write(
        `toolpipe: the config was not reloaded, the old one stays in use. ${error.message}\n`,
      );
      throw error;
    }
  };
  // In the background, so that the first client does not wait for it.
  void import("./running-gateways.ts")
    .then(({ announce }) =>
      announce(served.how, config, {
        reload: () => answerReload(reload, served),
        status: async () => listRunningServers(served.gateway),
      }),
    )
    .then(
      (made) => {
        announcement = made;
        if (ended) made.end();
      },
      () =>
        process.stderr.write(
          'toolpipe: "toolpipe config reload" cannot reach this gateway, because its socket could not be created.\n',
        ),
    );

  return {
    reload,
    end() {
      ended = true;
      unwatch();
      announcement?.end();
    },
  };

  function watch(): () => void {
    return file === undefined || ended ? () => {} : watchFile(file, () => void reload().catch(() => {}));
  }

  /** Watches the config file that was found this time, which may be another one. */
  function moveTo(next: LoadedConfig): void {
    try {
      announcement?.update(next);
    } catch {
      // The old record still leads to this gateway.
    }
    if (next.configFile === file) return;
    unwatch();
    file = next.configFile;
    unwatch = watch();
  }
}

async function answerReload(reload: () => Promise<void>, served: FollowedGateway): Promise<ReloadOutcome> {
  try {
    await reload();
  } catch (thrown) {
    return { reloaded: false, reason: GatewayError.from(thrown).message };
  }
  const { gateway } = served;
  await waitAtMost(gateway.services.servers?.settled(), MAX_LISTING_MS);
  const servers = listServerRows(gateway);
  return {
    reloaded: true,
    servers: servers.length,
    tools: servers.reduce((sum, { enabledCount }) => sum + enabledCount, 0),
    unlisted: listStatuses(gateway).filter((one) => one.listedAt === undefined && !isHeld(one)).length,
  };
}

function listRunningServers(gateway: Gateway): RunningServer[] {
  return listStatuses(gateway).map((one) => ({
    name: one.name,
    hash: hashServer(one.config),
    status: one.status,
    shown: toShownStatus(one),
    reason: one.reason,
  }));
}

/** Editors write a file in several steps, so changes are collected for this long. */
const SETTLE_MS = 100;

/** Calls back when a file was written. Watches its folder, because editors replace the file. */
function watchFile(file: string, onChange: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
      if (name !== null && name !== basename(file)) return;
      clearTimeout(timer);
      timer = setTimeout(onChange, SETTLE_MS);
    });
    watcher.on("error", () => {});
  } catch {
    // Without file watching, `toolpipe config reload` still works.
  }
  return () => {
    clearTimeout(timer);
    watcher?.close();
  };
}
