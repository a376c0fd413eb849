import { type Gateway, GatewayError, type LoadedConfig } from "../../core/mod.ts";
import { isHeld, serversOf, statusesOf } from "../lib/terminal/servers.ts";
import type { Announcement, Reloaded } from "./announce.ts";
import { watchFile } from "./watch.ts";

/** What is served, as far as its config is concerned. */
export interface Reloading {
  readonly gateway: Gateway;
  /** `stdio`, or the URL it is served at. */
  readonly how: string;
  /** Rejects, and changes nothing, where the config cannot be used. */
  reload(config: LoadedConfig): Promise<void>;
}

/** Follows the config of what is served. */
export interface Following {
  /** Reads the config anew; rejects, after saying so, where the old one stays. */
  reload(): Promise<void>;
  end(): void;
}

/** Whoever asks for a reload wants to know what it came to, but not to wait for a server that is slow. */
const LONGEST_COUNT_MS = 2_000;

/** Reads the config anew when its file changes, or when somebody asks for it. */
export function followConfig(
  config: LoadedConfig,
  served: Reloading,
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
      process.stderr.write("toolpipe: the config was read anew.\n");
      moveTo(next);
    } catch (thrown) {
      const error = GatewayError.from(thrown, "Something failed as it was read.");
      process.stderr.write(`toolpipe: the config stays as it was. ${error.message}\n`);
      throw error;
    }
  };
  // In the background, and loaded only now: whoever waits to be served does not wait for it.
  void import("./announce.ts")
    .then(({ announce }) => announce(served.how, config, () => answer(reload, served)))
    .then(
      (made) => {
        announcement = made;
        if (ended) made.end();
      },
      () => process.stderr.write('toolpipe: "toolpipe config reload" does not reach this gateway.\n'),
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

  /** Where none is named, another one may be found than before. */
  function moveTo(next: LoadedConfig): void {
    try {
      announcement?.update(next);
    } catch {
      // It was found before and still is, under the config it had then.
    }
    if (next.configFile === file) return;
    unwatch();
    file = next.configFile;
    unwatch = watch();
  }
}

async function answer(reload: () => Promise<void>, served: Reloading): Promise<Reloaded> {
  try {
    await reload();
  } catch (thrown) {
    return { reloaded: false, reason: GatewayError.from(thrown).message };
  }
  const { gateway } = served;
  await within(LONGEST_COUNT_MS, gateway.services.servers?.settled());
  const servers = serversOf(gateway);
  return {
    reloaded: true,
    servers: servers.length,
    tools: servers.reduce((sum, { enabledCount }) => sum + enabledCount, 0),
    unlisted: statusesOf(gateway).filter((one) => one.listedAt === undefined && !isHeld(one)).length,
  };
}

function within(ms: number, work: Promise<void> | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return Promise.race([work ?? Promise.resolve(), late]).finally(() => clearTimeout(timer));
}
