"""Writes the weight file, and a few vectors for the test that compares the TypeScript side with this one."""
import argparse
import base64
import hashlib
import json
import struct

import numpy as np

from evaluate import embed_queries, embed_tools
from text import Tokeniser, fnv


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--model", required=True, help="model.npz")
    arguments.add_argument("--out", required=True, help="toolvec.bin")
    arguments.add_argument("--examples", help="a JSON file of texts and tools")
    arguments.add_argument("--golden", help="where their vectors go")
    arguments.add_argument("--middle", type=float, default=0.5)
    arguments.add_argument("--steepness", type=float, default=12.0)
    given = arguments.parse_args()

    model = dict(np.load(given.model))
    words = list(model["words"])
    vectors = model["vectors"]
    rows, dims = vectors.shape
    assert rows == len(words)
    hashes = np.array([fnv(word) for word in words], np.uint32)
    assert len(set(hashes.tolist())) == len(words), "two words have one hash; take another seed"
    # A row's own length goes into its factors, so that each vector uses all of its 8 bits.
    scale = np.maximum(np.abs(vectors).max(1), 1e-9) / 127
    packed = np.clip(np.rint(vectors / scale[:, None]), -127, 127).astype(np.int8)
    body = b"".join([
        struct.pack("<2I", dims, rows),
        struct.pack("<2f", given.middle, given.steepness),
        model["fields"].astype("<f4").tobytes(),
        hashes.astype("<u4").tobytes(),
        (model["query"] * scale).astype("<f4").tobytes(),
        (model["tool"] * scale).astype("<f4").tobytes(),
        packed.tobytes(),
    ])
    with open(given.out, "wb") as file:
        file.write(b"TOOLVEC1" + hashlib.sha256(body).digest() + body)
    print(f"{len(body) + 40} bytes, {rows} words, {dims} dimensions")

    if given.golden:
        tokenise = Tokeniser({word: row for row, word in enumerate(words)})
        with open(given.examples, encoding="utf-8") as file:
            examples = json.load(file)
        queries = embed_queries(model, tokenise, examples["queries"])
        tools = embed_tools(model, tokenise, examples["tools"])
        coded = lambda vectors: [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in vectors]
        golden = {"queries": coded(queries), "tools": coded(tools)}
        with open(given.golden, "w", encoding="utf-8") as file:
            json.dump(golden, file, indent=2)
            file.write("\n")


main()
