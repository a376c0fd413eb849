/** A vector of length 1 as bytes: each times `scale` is a coordinate. */
export interface Packed {
  readonly scale: number;
  readonly bytes: Int8Array;
}

/** Rounds a vector to bytes that use all of their range. */
export function pack(vector: Float32Array): Packed {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  const bytes = new Int8Array(vector.length);
  if (!(largest > 0)) return { scale: 0, bytes };
  let squares = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = Math.round(((vector[index] as number) / largest) * 127);
    bytes[index] = byte;
    squares += byte * byte;
  }
  // What rounding does to the length is undone here, so that a cosine stays one.
  return { scale: 1 / Math.sqrt(squares), bytes };
}

/** A vector as whole numbers, each times `scale` a coordinate. */
export interface Rounded {
  readonly numbers: Int16Array;
  readonly scale: number;
}

/** How finely a query is rounded: sums of its products with bytes stay below 2 ** 31 up to 8,000 dimensions. */
const QUERY_RANGE = 2_047;

/** Rounds a query, with zeros behind it up to a length. */
export function rounded(query: Float32Array, length: number): Rounded {
  let largest = 0;
  for (const value of query) largest = Math.max(largest, Math.abs(value));
  const numbers = new Int16Array(length);
  if (!(largest > 0)) return { numbers, scale: 0 };
  for (let index = 0; index < query.length; index++)
    numbers[index] = Math.round(((query[index] as number) / largest) * QUERY_RANGE);
  return { numbers, scale: largest / QUERY_RANGE };
}
