/** Matches the part of the README that is made by `npm run record`. */
export function partOf(name: string): RegExp {
  return new RegExp(`(?<=<!-- ${name}: [^\\n]*-->\\n\\n).*?(?=\\n\\n<!-- end -->)`, "s");
}
