/** The length of a vector. */
export function lengthOf(vector: Float32Array | Int8Array | Int32Array): number {
  let sum = 0;
  for (let index = 0; index < vector.length; index++) sum += (vector[index] as number) ** 2;
  return Math.sqrt(sum);
}

/** The same vector with length 1; one of zeros stays as it is. */
export function toUnit(vector: Float32Array): Float32Array {
  const length = lengthOf(vector);
  return length > 0 ? vector.map((value) => value / length) : vector;
}

/** The product of two vectors. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] as number) * (b[index] as number);
  return sum;
}
