import type { LoadedConfig } from "../../core/load-config.ts";

/** Leaves out every plugin but the one that opens the state: a command that reads the state needs no other. */
export function keepStateAlone(config: LoadedConfig): LoadedConfig {
  const isState = ({ name }: { readonly name: string }): boolean => name === "state";
  const { preset, plugins = [], options = {} } = config;
  return {
    ...config,
    options: Object.fromEntries(Object.entries(options).filter(([name]) => name === "state")),
    preset: { ...preset, plugins: preset.plugins.filter(isState) },
    plugins: plugins.filter(isState),
  };
}
