/** Words that are counted by no number, or are plural already. */
const uncounted: ReadonlySet<string> = new Set(
  `code data content information info metadata status history help weather text news access feedback usage media
  storage memory dns whois traffic research documentation health analytics settings statistics stats time money mail
  email audio video software hardware knowledge people children series advice equipment music progress balance
  markdown html json xml csv sql lineage all everything diagnostics details`.split(/\s+/),
);

/** A noun in the plural, as far as English has rules for that. */
export function plural(word: string): string {
  if (uncounted.has(word) || !/[a-z]$/.test(word)) return word;
  if (/(?:ss|sh|ch|x|z|us)$/.test(word)) return `${word}es`;
  if (word.endsWith("s")) return word;
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  return `${word}s`;
}
