/** The marks that lines begin with, and how a terminal shows each. */
const COLOURS: Readonly<Record<string, number>> = { "✓": 32, "✗": 31, "!": 33 };
const MARK = /^( *)([✓✗!])(?= )/gm;

/** Whether colours are wanted there: a person reads it, and did not ask to be spared them. */
export function hasColours({ isTTY }: { readonly isTTY?: boolean }): boolean {
  // Any value but an empty one counts, as https://no-color.org says.
  return isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb";
}

/** The same text with its marks in colour, where colours are wanted. */
export function coloured(text: string): string {
  if (!hasColours(process.stdout)) return text;
  return text.replace(
    MARK,
    (_, space: string, mark: string) => `${space}\u001b[${COLOURS[mark]}m${mark}\u001b[39m`,
  );
}

/** Prints what a command has found: as one line of JSON where that was asked for, else as text. */
export function output(asJson: boolean | undefined, value: object, text: () => string): void {
  process.stdout.write(asJson ? `${JSON.stringify(value)}\n` : coloured(text()));
}
