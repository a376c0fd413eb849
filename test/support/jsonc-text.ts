/** A JSON text with comments, and which of the comments stand within an entry of the map that is looked at. */
export interface JsoncText {
  readonly text: string;
  /** Every comment, with the name of the entry it is part of. */
  readonly comments: readonly { readonly text: string; readonly within: string | undefined }[];
}

/** How a text is written: numbers that decide, one after another, on every space and comment. */
export interface Writing {
  readonly choices: readonly number[];
  readonly eol: "\n" | "\r\n";
  readonly trailingCommas: boolean;
  readonly comments: boolean;
  readonly mark: boolean;
}

/** Writes a value with the irregular formatting of a hand-written file. */
export function jsoncText(value: object, key: string, writing: Writing): JsoncText {
  const { choices, eol, trailingCommas, mark } = writing;
  const comments: { text: string; within: string | undefined }[] = [];
  let next = 0;
  let within: string | undefined;

  const choose = (count: number): number => (choices[next++ % choices.length] ?? 0) % count;
  const comment = (form: (text: string) => string): string => {
    const text = `note ${comments.length}.`;
    comments.push({ text, within });
    return form(text);
  };
  const gap = (): string => {
    const plain = ["", "", " ", `${eol}  `, "\t", `${eol}${eol}    `];
    const choice = choose(writing.comments ? plain.length + 2 : plain.length);
    if (choice === plain.length) return comment((text) => ` /* ${text} */`);
    if (choice === plain.length + 1) return comment((text) => ` // ${text}${eol}`);
    return plain[choice] as string;
  };
  const write = (node: unknown, path: readonly string[]): string => {
    if (typeof node !== "object" || node === null) return JSON.stringify(node);
    const isList = Array.isArray(node);
    const items = Object.entries(node).map(([name, inner]) => {
      const before = gap();
      const isEntry = path.length === 1 && path[0] === key;
      if (isEntry) within = name;
      const own = `${isList ? "" : `${JSON.stringify(name)}${gap()}:${gap()}`}${write(inner, [...path, name])}`;
      if (isEntry) within = undefined;
      return `${before}${own}${gap()}`;
    });
    const end = trailingCommas && items.length > 0 && choose(2) === 0 ? "," : "";
    return `${isList ? "[" : "{"}${items.join(",")}${end}${gap()}${isList ? "]" : "}"}`;
  };
  const text = `${gap()}${write(value, [])}${gap()}`;
  return { text: `${mark ? "\uFEFF" : ""}${text}`, comments };
}
