import type { Gateway, Tool, ToolDefinition } from "../../core/mod.ts";

/**
 * The pieces that a tokenizer never joins: a word with the sign before it, three digits, a run of signs. Made when the
 * first string is estimated, since the classes of all letters take a while to compile.
 */
const pieces = (): RegExp =>
  /[^\r\n\p{L}\p{N}]?\p{Lu}*[\p{Ll}\p{M}]+|[^\r\n\p{L}\p{N}]?\p{Lu}+|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+/gu;
/** Nearly all answers are ASCII. Scanning them took most of a search's time by the pattern, so they have their own path. */
const PLAIN = /^[\0-\x7f]*$/;
const LETTER = /^\p{L}/u;
/** Letters beyond the Latin ones. */
const OTHER = /[\u0250-\uffff]/;
/** Pieces that end in a sign. */
const SIGNS = /[^\p{L}\p{M}]$/u;

/**
 * Estimates the tokens of a string, rather too many than too few: of a hundred answers of the gateway hardly one
 * has more, counted by o200k. A real tokenizer takes 2 MB and 100 ms to load.
 */
export function estimateTokens(text: string): number {
  return PLAIN.test(text) ? estimatePlain(text) : estimateByPattern(text);
}

/** Estimates the tokens of a string in any script. */
export function estimateByPattern(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(pieces())) tokens += estimatePiece(piece);
  return tokens;
}

/** The numbers are the average over answers about 4,158 real tools, and a little more. */
function estimatePiece(piece: string): number {
  const { length } = piece;
  if (OTHER.test(piece)) return estimateForeign(piece);
  if (SIGNS.test(piece)) return length <= 4 ? 1 : 1 + (length - 3) / 2;
  // A word of prose is a token, however long; parts of names are less often words.
  if (piece.startsWith(" ")) return 1.1 + Math.max(0, length - 10) / 6;
  if (LETTER.test(piece)) return 1.2 + Math.max(0, length - 8) / 5;
  return 1.4 + Math.max(0, length - 5) / 6;
}

/** Common scripts have about a token a letter; in others every byte is one. */
function estimateForeign(piece: string): number {
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

const kinds: Uint8Array = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const sign = String.fromCharCode(code);
  if (/[A-Z]/.test(sign)) return UPPER;
  if (/[a-z]/.test(sign)) return LOWER;
  if (/\d/.test(sign)) return DIGIT;
  return /\s/.test(sign) ? SPACE : SIGN;
});

/** Estimates a string of ASCII characters in the pieces that the pattern would find. */
function estimatePlain(text: string): number {
  const end = text.length;
  const getKind = (index: number): number => (index < end ? (kinds[text.charCodeAt(index)] as number) : 0);
  const findEnd = (kind: number, from: number, most = end): number => {
    let at = from;
    while (at < most && getKind(at) === kind) at++;
    return at;
  };
  let tokens = 0;
  for (let start = 0; start < end; ) {
    const kind = getKind(start);
    const isWord = kind === UPPER || kind === LOWER;
    const code = text.charCodeAt(start);
    // A word takes the sign before it along, unless that ends a line.
    const first = isWord ? start : start + 1;
    const takesWord = isWord || (kind !== DIGIT && code !== 10 && code !== 13);
    const word = takesWord ? findEnd(LOWER, findEnd(UPPER, first)) : first;
    let next: number;
    if (word > first) {
      next = word;
      const length = word - start;
      if (isWord) tokens += 1.2 + Math.max(0, length - 8) / 5;
      else if (code === 0x20) tokens += 1.1 + Math.max(0, length - 10) / 6;
      else tokens += 1.4 + Math.max(0, length - 5) / 6;
    } else {
      if (kind === DIGIT) next = findEnd(DIGIT, start, Math.min(end, start + 3));
      else if (kind === SIGN || (code === 0x20 && getKind(first) === SIGN)) next = findEnd(SIGN, first);
      else next = findEnd(SPACE, start);
      const length = next - start;
      tokens += length <= 4 ? 1 : 1 + (length - 3) / 2;
    }
    start = next;
  }
  return tokens;
}

/** Tokens of tool definitions for an agent. */
export interface TokenSaving {
  /** Tokens of all enabled tools. */
  readonly all: number;
  /** Definitions that a client without a special rule sees. */
  readonly shown: number;
  readonly saved: number;
}

/** Number of tools that are measured before other work gets a turn. */
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
      const cost = known.get(tool) ?? estimateTool(tool);
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
    // Without tools of the gateway itself the catalog is exposed.
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
function estimateTool({ name, description, inputSchema }: ToolDefinition): number {
  return estimateTokens(JSON.stringify({ name, description, inputSchema })) + 1;
}
