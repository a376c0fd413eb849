import type { Gateway, Tool, ToolDefinition } from "../../core/mod.ts";
import type {} from "../../core/services/clients.ts";

/**
 * The pieces that a tokenizer never joins: a word with the sign before it, three digits, a run of signs. Made when the
 * first text is estimated, since the classes of all letters take a while to put together.
 */
const pieces = (): RegExp =>
  /[^\r\n\p{L}\p{N}]?\p{Lu}*[\p{Ll}\p{M}]+|[^\r\n\p{L}\p{N}]?\p{Lu}+|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+/gu;
/** What nearly all answers are. Their pieces are found sign by sign: by the pattern it was most of a search's time. */
const PLAIN = /^[\0-\x7f]*$/;
const LETTER = /^\p{L}/u;
/** Anything beyond the Latin letters. */
const OTHER = /[\u0250-\uffff]/;
/** Signs that stand for themselves at the end of a piece. */
const SIGNS = /[^\p{L}\p{M}]$/u;

/**
 * About how many tokens a text has, rather too many than too few: of a hundred answers of the gateway hardly one
 * has more, counted by o200k. A real tokenizer takes 2 MB and 100 ms to load.
 */
export function estimateTokens(text: string): number {
  return PLAIN.test(text) ? plainTokens(text) : tokensByPattern(text);
}

/** The same, for any script. */
export function tokensByPattern(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(pieces())) tokens += tokensOf(piece);
  return tokens;
}

/** The figures are what the pieces of answers over 4,158 real tools took on average, and a little more. */
function tokensOf(piece: string): number {
  const { length } = piece;
  if (OTHER.test(piece)) return otherTokens(piece);
  if (SIGNS.test(piece)) return length <= 4 ? 1 : 1 + (length - 3) / 2;
  // A word of prose is a token, however long; parts of names are less often words.
  if (piece.startsWith(" ")) return 1.1 + Math.max(0, length - 10) / 6;
  if (LETTER.test(piece)) return 1.2 + Math.max(0, length - 8) / 5;
  return 1.4 + Math.max(0, length - 5) / 6;
}

/** Scripts that many people write have about a token a letter; of others every byte is one. */
function otherTokens(piece: string): number {
  let tokens = 0;
  for (let index = 0; index < piece.length; index++) {
    const code = piece.charCodeAt(index);
    if (code < 0x80) {
      // Signs around it, mostly, which are joined.
      tokens += 0.3;
      continue;
    }
    const isCommon =
      code < 0x1000 ||
      (code >= 0x2000 && code < 0x2c00) ||
      (code >= 0x3000 && code < 0xa000) ||
      (code >= 0xac00 && code < 0xd7b0);
    tokens += isCommon ? 1 : code >= 0xd800 && code < 0xe000 ? 2 : 3;
  }
  return tokens;
}

const UPPER = 1;
const LOWER = 2;
const DIGIT = 3;
const SPACE = 4;
const SIGN = 5;

/** What each ASCII character is. */
const kinds: Uint8Array = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const sign = String.fromCharCode(code);
  if (/[A-Z]/.test(sign)) return UPPER;
  if (/[a-z]/.test(sign)) return LOWER;
  if (/\d/.test(sign)) return DIGIT;
  return /\s/.test(sign) ? SPACE : SIGN;
});

/** The pieces of a text of ASCII characters, one after another, as the pattern would find them. */
function plainTokens(text: string): number {
  const end = text.length;
  const kindAt = (index: number): number => (index < end ? (kinds[text.charCodeAt(index)] as number) : 0);
  const endOf = (kind: number, from: number, most = end): number => {
    let at = from;
    while (at < most && kindAt(at) === kind) at++;
    return at;
  };
  let tokens = 0;
  for (let start = 0; start < end; ) {
    const kind = kindAt(start);
    const isWord = kind === UPPER || kind === LOWER;
    const code = text.charCodeAt(start);
    // A word takes the sign before it along, unless that ends a line.
    const first = isWord ? start : start + 1;
    const takesWord = isWord || (kind !== DIGIT && code !== 10 && code !== 13);
    const word = takesWord ? endOf(LOWER, endOf(UPPER, first)) : first;
    let next: number;
    if (word > first) {
      next = word;
      const length = word - start;
      if (isWord) tokens += 1.2 + Math.max(0, length - 8) / 5;
      else if (code === 0x20) tokens += 1.1 + Math.max(0, length - 10) / 6;
      else tokens += 1.4 + Math.max(0, length - 5) / 6;
    } else {
      if (kind === DIGIT) next = endOf(DIGIT, start, Math.min(end, start + 3));
      else if (kind === SIGN || (code === 0x20 && kindAt(first) === SIGN)) next = endOf(SIGN, first);
      else next = endOf(SPACE, start);
      const length = next - start;
      tokens += length <= 4 ? 1 : 1 + (length - 3) / 2;
    }
    start = next;
  }
  return tokens;
}

/** The tokens that tool definitions cost an agent. */
export interface TokenSaving {
  /** All tools of all servers that can be called. */
  readonly all: number;
  /** Definitions that a client without a special rule sees. */
  readonly shown: number;
  readonly saved: number;
}

/** Tools that are measured before other work gets a turn. */
const SLICE = 100;

/** Creates a function that measures the definitions of a gateway. Tools in the catalog never change, so each is measured once. */
export function createTokenMeter(gateway: Gateway): () => Promise<TokenSaving> {
  const known = new WeakMap<ToolDefinition, number>();
  let revision = -1;
  let measured: Promise<TokenSaving> | undefined;

  const sum = async (tools: readonly Tool[]): Promise<number> => {
    let [total, fresh] = [0, 0];
    for (const tool of tools) {
      if (!tool.enabled) continue;
      const cost = known.get(tool) ?? costOfTool(tool);
      if (!known.has(tool) && ++fresh % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
      known.set(tool, cost);
      total += cost;
    }
    return Math.ceil(total);
  };

  const measure = async (): Promise<TokenSaving> => {
    const all = await sum(gateway.catalog.tools());
    const exposure = gateway.services.exposure?.get(undefined) ?? "meta";
    const own = exposure === "tools" ? 0 : await sum(gateway.tools);
    // Where there are no tools of the gateway itself, what is shown is the catalog already.
    const isCatalog = gateway.tools.every(({ builtin }) => !builtin);
    const shown = isCatalog ? all : own + (exposure === "meta" ? 0 : all);
    return { all, shown, saved: Math.max(0, all - shown) };
  };

  return () => {
    if (measured === undefined || revision !== gateway.catalog.revision) {
      revision = gateway.catalog.revision;
      measured = measure();
    }
    return measured;
  };
}

/** Estimates the tokens of a tool: only the fields that a client passes to its model. */
function costOfTool({ name, description, inputSchema }: ToolDefinition): number {
  return estimateTokens(JSON.stringify({ name, description, inputSchema })) + 1;
}
