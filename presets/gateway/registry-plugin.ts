import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import * as v from "valibot";
import {
  type Catalog,
  definePlugin,
  type Gateway,
  GatewayError,
  type PluginFactory,
} from "../../core/mod.ts";
import { contractFaults } from "./contract.ts";
import { optionsOf } from "./options-of.ts";
import { liveOperations, type OperationRegistry, outlineOf, registryOf } from "./registry.ts";

/** The options of the plugin `registry`. */
export interface RegistryOptions {
  /** The file that the registry is written to, as a copy and never as the truth; `MCP_REGISTRY_PATH`, and none by default. */
  readonly path?: string | undefined;
  /** Whether the file is written. If not, it must be there, and say what there is; true by default. */
  readonly write?: boolean;
  /** What follows where the registry and the operations differ: no start in lazy mode, or one without intent. */
  readonly onFailure?: "refuse" | "degrade";
  /** How long the check of a file that is not written waits for servers to say what they have; 10,000 by default. */
  readonly waitMs?: number;
}

/** The registry of a gateway. */
export interface Registry {
  /** What is wrong with it. Where anything is, nothing is recommended. */
  readonly problems: readonly string[];
  /** Every operation as it is now. */
  build(): Promise<OperationRegistry>;
}

/** By the catalog of a gateway: each plugin sees the gateway through an object of its own. */
const byCatalog = new WeakMap<Catalog, Registry>();

/** The registry of a gateway, where the plugin `registry` is there. */
export function operationRegistryOf({ catalog }: Pick<Gateway, "catalog">): Registry | undefined {
  return byCatalog.get(catalog);
}

type Settings = RegistryOptions & Required<Omit<RegistryOptions, "path">>;

const options = v.strictObject({
  path: v.optional(v.pipe(v.string(), v.minLength(1, "the path of a file"))),
  write: v.optional(v.boolean(), true),
  onFailure: v.optional(v.picklist(["refuse", "degrade"]), "refuse"),
  waitMs: v.optional(v.pipe(v.number(), v.minValue(0, "a number of milliseconds, 0 or more")), 10_000),
});

/** The tool that says that all others are there. */
const LAST = "gateway.intent";
/** While servers are asked for their tools, the catalog changes many times in a row. */
const SETTLE_MS = 500;

/** Checks that what is registered is what there is, and keeps a copy of it in a file where one is named. */
export const registry: PluginFactory<"registry", RegistryOptions, Settings> = definePlugin({
  name: "registry",
  uses: ["servers?", "adapters?", "results?", "rates?"],
  keys: ["registry"],
  options: options as v.GenericSchema<RegistryOptions, Settings>,
  setup(gateway, { path, write, onFailure, waitMs }) {
    const file = fileOf(gateway, path);
    let problems: readonly string[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let writing: Promise<void> = Promise.resolve();
    let isChecked = false;
    byCatalog.set(gateway.catalog, {
      get problems() {
        return problems;
      },
      build: () => registryOf(gateway),
    });

    const check = async (): Promise<void> => {
      const isKept = file !== undefined && !write;
      if (isKept) await settled(gateway, waitMs);
      const faults = contractFaults(
        isKept ? await readRegistry(file) : outlineOf(gateway),
        liveOperations(gateway),
        { riskExpected: gateway.catalog.tools().some(({ policy }) => policy !== undefined) },
      );
      if (faults.length > 0 && onFailure === "refuse" && optionsOf(gateway).mode === "lazy") {
        throw new GatewayError("CONFIG_INVALID", refusalOf(file, faults), { data: { faults } });
      }
      for (const fault of faults) gateway.report(new GatewayError("CONFIG_INVALID", fault));
      problems = faults;
      isChecked = true;
      if (file !== undefined && write) await save(file);
    };

    /** One after another: the later one must be the one that stays. */
    const save = (target: string): Promise<void> => {
      clearTimeout(timer);
      timer = undefined;
      writing = writing.then(async () => {
        try {
          await replace(target, `${JSON.stringify(await registryOf(gateway), null, 2)}\n`);
        } catch (thrown) {
          // It is a copy: nothing depends on it, and whoever wants it is told.
          gateway.report(GatewayError.from(thrown, `${target}: the registry cannot be written.`));
        }
      });
      return writing;
    };

    return {
      // The gateway's own tools are the last to come: by then everything that brings operations has brought them.
      "tool:discover": ({ builtin, name }) => (builtin && name === LAST && !isChecked ? check() : undefined),
      "catalog:change"() {
        if (!isChecked || file === undefined || !write || timer) return;
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

/** A path in a config is seen from there, one in the environment from where the process was started. */
function fileOf({ configFile }: Gateway, path: string | undefined): string | undefined {
  const named = process.env["MCP_REGISTRY_PATH"]?.trim();
  if (named) return resolve(named);
  if (path === undefined) return undefined;
  return configFile === undefined ? resolve(path) : resolve(dirname(configFile), path);
}

/** Whoever reads it meanwhile has the old one or the new one, and nothing between. */
async function replace(file: string, text: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  await mkdir(dirname(file), { recursive: true });
  try {
    await writeFile(temporary, text);
    await rename(temporary, file);
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
}

async function readRegistry(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (cause) {
    throw new GatewayError("CONFIG_INVALID", `${file}: the registry cannot be read.`, { cause });
  }
}

async function settled({ services }: Gateway, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([Promise.all([services.servers?.settled(), services.adapters?.settled()]), enough]);
  clearTimeout(timer);
}

function refusalOf(file: string | undefined, faults: readonly string[]): string {
  const where = file === undefined ? "" : `${file}: `;
  return `${where}The gateway does not start, because its registry is not what there is. ${faults.join(" ")}`;
}
