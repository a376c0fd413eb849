/** A query is read so far, and no further. */
const MAX_CHARACTERS = 4_000;
const MAX_CLAUSES = 6;

/** Ends of sentences, lines, and what joins one request to the next. */
const boundary = /(?<=[.?!;。？！；])\s+|\n+|,\s+(?=(?:and|then)\s)|\s\+\s|\s(?:and then|then)\s/i;

/**
 * The requests that a query is made of, where it is more than one: "Read the file. Then mail it" asks for two
 * tools, and each is easier to find by its own words. None where the query is a single request.
 */
export function clausesOf(query: string): readonly string[] {
  const clauses = query
    .slice(0, MAX_CHARACTERS)
    .split(boundary)
    .map((clause) => clause.trim())
    .filter((clause) => /\S\s+\S/.test(clause));
  const different = [...new Set(clauses)];
  return different.length > 1 ? different.slice(0, MAX_CLAUSES) : [];
}
