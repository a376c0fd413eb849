import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { checkDiscoveryConfig } from "./discovery-engine.ts";
import { toDiscoveryError } from "./errors.ts";
import type { CompatConfig, ValidationResult } from "./types.ts";

/** The config where there is no file: all tools are enabled. */
export const DEFAULT_CONFIG: CompatConfig = {
  enabled: true,
  cache: { enabled: true, ttl: 3600 },
  sources: [],
  toolRules: [],
};

/** Loads and checks configs. */
export class ConfigurationLoader {
  /**
   * Loads a file, or the first of those that `toolpipe` looks for; without any, the defaults. Throws a
   * `ConfigurationError` that names the file and what is wrong.
   */
  async load(configPath?: string): Promise<CompatConfig> {
    try {
      const { isSwitchedOff, loadServeConfig } = await import("../../plugins/cli/mod.ts");
      const config = await loadServeConfig({ config: configPath, isTrusted: true });
      const { configFile, settings = {} } = config;
      if (configFile === undefined) return structuredClone(DEFAULT_CONFIG);
      const [sources, rules, cache] = ["sources", "rules", "cache"].map((name) => toObject(settings[name]));
      const { mcpServers } = sources ?? {};
      const named = Object.entries(toObject(mcpServers)).map(([name, entry]) => ({
        name,
        ...toObject(entry),
      }));
      return checkDiscoveryConfig({
        enabled: !isSwitchedOff(config),
        cache: { enabled: true, ttl: 3600, ...cache },
        sources: sources?.["sources"] ?? [],
        servers: [...((sources?.["servers"] as JsonObject[] | undefined) ?? []), ...named],
        toolRules: rules?.["toolRules"] ?? [],
      } as CompatConfig);
    } catch (thrown) {
      throw toDiscoveryError(thrown);
    }
  }

  /** Checks a config without using it. */
  validate(config: CompatConfig): ValidationResult {
    try {
      checkDiscoveryConfig(config);
      return { valid: true, errors: [] };
    } catch (thrown) {
      return { valid: false, errors: [toDiscoveryError(thrown).message] };
    }
  }
}

/** Loads a config, and loads it again on request. */
export class ConfigurationManager {
  readonly #loader = new ConfigurationLoader();
  #path: string | undefined;
  #config: CompatConfig | undefined;

  async loadConfig(configPath?: string): Promise<CompatConfig> {
    const config = await this.#loader.load(configPath);
    this.#path = configPath;
    this.#config = config;
    return config;
  }

  getDefaultConfig(): CompatConfig {
    return structuredClone(DEFAULT_CONFIG);
  }

  /** Loads the last config again. If that fails it rejects, and the config before stays. */
  async reload(): Promise<void> {
    this.#config = await this.#loader.load(this.#path);
  }

  /** Returns the config that was loaded last; the default one before. */
  getConfig(): CompatConfig {
    return this.#config ?? this.getDefaultConfig();
  }
}

function toObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
