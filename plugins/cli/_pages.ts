import type { LoadedConfig } from "../../core/mod.ts";

/**
 * A config with what people and machines look at where a gateway is served over HTTP: the dashboard, the metrics and
 * whether it is well. What the config names itself is left as it is.
 */
export async function withPages(config: LoadedConfig): Promise<LoadedConfig> {
  const [{ dashboard }, { health }, { metrics }] = await Promise.all([
    import("../dashboard/mod.ts"),
    import("../health.ts"),
    import("../metrics/mod.ts"),
  ]);
  const given = [...(config.preset?.plugins ?? []), ...(config.plugins ?? [])].map(({ name }) => name);
  const pages = [dashboard(), health(), metrics()].filter(({ name }) => !given.includes(name));
  return { ...config, plugins: [...(config.plugins ?? []), ...pages] };
}
