import type { Buffer } from "node:buffer";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib";
import { GatewayError } from "../../../core/mod.ts";
import { UPSTREAM_PROTOCOL } from "../errors.ts";
import { tooLarge } from "../http-body.ts";

type Unpack = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const unpackers: Readonly<Record<string, Unpack>> = {
  gzip: promisify(gunzip) as Unpack,
  "x-gzip": promisify(gunzip) as Unpack,
  br: promisify(brotliDecompress) as Unpack,
  // Some servers leave out what the standard says must be around it.
  deflate: (bytes, options) =>
    (((bytes[0] ?? 0) & 0x0f) === 8 ? (promisify(inflate) as Unpack) : (promisify(inflateRaw) as Unpack))(
      bytes,
      options,
    ),
};
/** Nobody packs an answer more often than this, except to harm. */
const MAX_LAYERS = 3;

/** Unpacks the body of an answer, which stays below the limit at every step. */
export async function unpacked(body: Buffer, coding: string | undefined, maxBytes: number): Promise<Buffer> {
  const layers = (coding ?? "")
    .split(",")
    .map((layer) => layer.trim().toLowerCase())
    .filter((layer) => layer !== "" && layer !== "identity");
  if (layers.length === 0 || body.length === 0) return body;
  if (layers.length > MAX_LAYERS) throw unreadable();
  let bytes = body;
  for (const layer of layers.reverse()) {
    const unpack = Object.hasOwn(unpackers, layer) ? unpackers[layer] : undefined;
    if (!unpack) throw unreadable();
    try {
      bytes = await unpack(bytes, { maxOutputLength: maxBytes });
    } catch (cause) {
      throw (cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE"
        ? tooLarge(maxBytes)
        : unreadable(cause);
    }
  }
  return bytes;
}

function unreadable(cause?: unknown): GatewayError {
  return new GatewayError(UPSTREAM_PROTOCOL, "The answer is packed in a way that cannot be unpacked.", {
    cause,
  });
}
