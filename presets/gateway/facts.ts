import type { AdapterInfo } from "./adapter-info.ts";

/** Made when it is first needed: it takes 10 ms, for Node loads what it knows of languages. */
let regions: Intl.DisplayNames | undefined;

/** What a person says of their task beside it. */
export interface IntentContext {
  readonly currency?: string | undefined;
  readonly country?: string | undefined;
  readonly use_case?: string | undefined;
}

/** The name of a country, where its code is one. */
export function countryName(code: string): string | undefined {
  if (!/^[A-Za-z]{2}$/.test(code)) return undefined;
  regions ??= new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });
  return regions.of(code.toUpperCase());
}

/** Whether an adapter lists a country, by its code or its English name. */
export function hasCountry({ countries }: Pick<AdapterInfo, "countries">, country: string): boolean {
  const text = country.trim().toLowerCase();
  return countries.some((code) => code.toLowerCase() === text || countryName(code)?.toLowerCase() === text);
}

/** Whether an adapter lists a capability, however its words are joined: `card_payments` is `card payments`. */
export function hasCapability({ capabilities }: Pick<AdapterInfo, "capabilities">, wanted: string): boolean {
  const key = joined(wanted);
  return key !== "" && capabilities.some((capability) => joined(capability).includes(key));
}

/** What an adapter is found by besides its operations. */
export function labelsOf(adapter: AdapterInfo): readonly string[] {
  const countries = adapter.countries.flatMap((code) => countryName(code) ?? []);
  return [
    adapter.id,
    adapter.name,
    adapter.category,
    ...adapter.capabilities,
    ...countries,
    ...adapter.currencies,
  ];
}

/** What of a context an adapter has, and what it says it has not. What it says nothing of is neither. */
export function fitOf(
  adapter: AdapterInfo,
  { currency, country, use_case }: IntentContext,
): { readonly has: readonly string[]; readonly lacks: readonly string[] } {
  const has: string[] = [];
  const lacks: string[] = [];
  const judge = (value: string | undefined, declared: readonly string[], isThere: () => boolean): void => {
    if (value === undefined || value.trim() === "" || declared.length === 0) return;
    (isThere() ? has : lacks).push(value.trim());
  };
  judge(currency, adapter.currencies, () =>
    adapter.currencies.some((code) => code.toLowerCase() === currency?.trim().toLowerCase()),
  );
  judge(country, adapter.countries, () => hasCountry(adapter, country ?? ""));
  judge(use_case, adapter.capabilities, () => hasCapability(adapter, use_case ?? ""));
  return { has, lacks };
}

function joined(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}
