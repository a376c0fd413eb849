import { randomBytes } from "node:crypto";

/** What a URI of a kept result names. */
export interface Place {
  readonly id: string;
  /** A part of it; the whole result where none is named. */
  readonly part: string | undefined;
  /** Where in the part to begin, in characters. */
  readonly offset: number;
}

const START = "toolpipe://results/";
const PATTERN = /^([\w-]{22})(?:\/([a-z0-9]{1,20}))?(?:\?offset=(\d{1,15}))?$/;

/** A name that nobody can guess: whoever has it was given it. */
export function newId(): string {
  return randomBytes(16).toString("base64url");
}

/** The URI of a kept result, of a part of it, or of the part from some character on. */
export function uriOf(id: string, part?: string, offset = 0): string {
  return `${START}${id}${part === undefined ? "" : `/${part}`}${offset > 0 ? `?offset=${offset}` : ""}`;
}

/** Whether a URI is one of ours, sound or not. */
export function isOurs(uri: string): boolean {
  return uri.startsWith(START);
}

/** What a URI names; nothing where it is not one of ours. */
export function placeOf(uri: string): Place | undefined {
  const [, id, part, offset = "0"] = PATTERN.exec(isOurs(uri) ? uri.slice(START.length) : "") ?? [];
  return id === undefined ? undefined : { id, part, offset: Number(offset) };
}
