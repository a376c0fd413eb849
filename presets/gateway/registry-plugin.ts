import { mkdir, readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import * as v from "valibot";
import {
  type Catalog,
  defineError,
  definePlugin,
  type ErrorKind,
  type Gateway,
  GatewayError,
} from "../../core/mod.ts";
import { waitAtMost } from "../../plugins/lib/backoff.ts";
import { replaceFile } from "../../plugins/lib/files.ts";
import { option } from "../../plugins/lib/options.ts";
import { listLiveOperations } from "./operations.ts";
import { getSettings } from "./options.ts";
import { createRegistry, createRegistryOutline, findRegistryFaults } from "./registry.ts";

export const INTENT_DISABLED: ErrorKind = defineError("INTENT_DISABLED", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
  description: "`gateway.intent` is off, since the registry is wrong.",
});

const options = v.strictObject({
  path: option(
    v.pipe(v.string(), v.minLength(1, "the path of a file")),
    "File to write the registry to, relative to the config file. It is a copy of the catalog. `MCP_REGISTRY_PATH` overrides it.",
  ),
  write: option(
    v.boolean(),
    "Whether the file is written. Otherwise it must exist and match the operations.",
    true,
  ),
  onFailure: option(
    v.picklist(["refuse", "degrade"]),
    "What happens if registry and operations differ: in lazy mode `refuse` refuses to start; `degrade` switches `gateway.intent` off.",
    "refuse",
  ),
  waitMs: option(
    v.pipe(v.number(), v.minValue(0, "a number of milliseconds, 0 or more")),
    "Milliseconds that the check of a file that is not written waits for servers to list their tools.",
    10_000,
  ),
});

/** Options of {@link registry}. */
export type OperationRegistryOptions = v.InferInput<typeof options>;

/** The catalog changes many times in a row while servers are listed. */
const SETTLE_MS = 500;
/** Faults by catalog: each plugin sees the gateway through an object of its own. */
const faultsByCatalog = new WeakMap<Catalog, readonly string[]>();

/** Lists the faults of the registry. Where there is any, `gateway.intent` is off. */
export function listRegistryFaults({ catalog }: Pick<Gateway, "catalog">): readonly string[] {
  return faultsByCatalog.get(catalog) ?? [];
}

/** Checks the registry of operations at the start, and keeps a copy of it in a file if one is named. */
export const registry = definePlugin({
  name: "registry",
  uses: ["servers?", "adapters?", "results?", "rates?"],
  keys: ["registry"],
  errors: { INTENT_DISABLED },
  options,
  setup(gateway, { path, write, onFailure, waitMs }) {
    const file = resolveFile(gateway, path);
    let timer: ReturnType<typeof setTimeout> | undefined;
    let writing: Promise<void> = Promise.resolve();
    let isStarted = false;

    /** Writes in turn, so that the last state stays. */
    const save = (target: string): Promise<void> => {
      clearTimeout(timer);
      timer = undefined;
      writing = writing.then(async () => {
        try {
          const json = `${JSON.stringify(await createRegistry(gateway), null, 2)}\n`;
          await mkdir(dirname(target), { recursive: true });
          await replaceFile(target, { bytes: Buffer.from(json), mode: 0o644 });
        } catch (cause) {
          // Nothing depends on the copy.
          const message = `${target}: the registry cannot be written.`;
          gateway.report(new GatewayError("INTERNAL", message, { cause }));
        }
      });
      return writing;
    };

    return {
      async start() {
        const isKept = file !== undefined && !write;
        if (isKept) {
          const { servers, adapters } = gateway.services;
          await waitAtMost(Promise.all([servers?.settled(), adapters?.settled()]), waitMs);
        }
        const content = isKept ? await readRegistry(file) : createRegistryOutline(gateway);
        const faults = findRegistryFaults(content, listLiveOperations(gateway), {
          riskExpected: gateway.catalog.tools().some(({ policy }) => policy !== undefined),
        });
        if (faults.length > 0 && onFailure === "refuse" && getSettings(gateway).mode === "lazy") {
          const message = `${file === undefined ? "" : `${file}: `}The gateway does not start, because its registry does not match the operations. ${faults.join(" ")}`;
          throw new GatewayError("CONFIG_INVALID", message, { data: { faults } });
        }
        for (const fault of faults) gateway.report(new GatewayError("CONFIG_INVALID", fault));
        faultsByCatalog.set(gateway.catalog, faults);
        isStarted = true;
        if (file !== undefined && write) await save(file);
      },
      "catalog:change"() {
        if (!isStarted || file === undefined || !write || timer) return;
        timer = setTimeout(() => void save(file), SETTLE_MS);
        timer.unref?.();
      },
      async close() {
        if (timer && file !== undefined) void save(file);
        await writing;
      },
    };
  },
});

/** Resolves a path of a config relative to the config, one of the environment relative to the working directory. */
function resolveFile({ configFile }: Gateway, path: string | undefined): string | undefined {
  const named = process.env["MCP_REGISTRY_PATH"]?.trim();
  if (named) return resolve(named);
  if (path === undefined) return undefined;
  return configFile === undefined ? resolve(path) : resolve(dirname(configFile), path);
}

async function readRegistry(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (cause) {
    throw new GatewayError("CONFIG_INVALID", `${file}: the registry cannot be read.`, { cause });
  }
}
