"""nDCG@10 and Recall@5 of a model on labelled sets: folders with tools.jsonl and queries.jsonl."""
import argparse
import json
import os
import re

import numpy as np

from text import FIELDS, LIMITS, Tokeniser, fields_of

STOP = set(
    "a an the of to in on for and or is are was be been with by from at as it its this that these those i you me my "
    "we our your can could would should will do does did how what which who when where why there their them they he "
    "she his her not no any some all need want like please help get give find show tell let have has had using use "
    "via per up out about into if so just also more most other than then".split()
)


def lines_of(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def embed_queries(tables, tokenise, texts):
    out = np.zeros((len(texts), tables["vectors"].shape[1]), np.float32)
    for place, text in enumerate(texts):
        rows = tokenise(text, LIMITS["query"])
        if rows:
            out[place] = tables["query"][rows] @ tables["vectors"][rows]
    return unit(out)


def embed_tools(tables, tokenise, tools):
    out = np.zeros((len(tools), tables["vectors"].shape[1]), np.float32)
    for place, tool in enumerate(tools):
        texts = fields_of(tool)
        for weight, field in zip(tables["fields"], FIELDS):
            rows = tokenise(texts[field], LIMITS[field])
            if rows:
                out[place] += weight / len(rows) ** 0.5 * (tables["tool"][rows] @ tables["vectors"][rows])
    return unit(out)


def stems(text):
    """Crude stems of the words that say something."""
    words = re.findall(r"[a-z]+|[0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())
    return {re.sub(r"(ing|ed|es|s|e|ion|er)$", "", word)[:6] for word in words if word not in STOP and len(word) > 2}


class Labelled:
    """A labelled set."""

    def __init__(self, folder):
        self.tools = lines_of(os.path.join(folder, "tools.jsonl"))
        places = {tool["id"]: place for place, tool in enumerate(self.tools)}
        pairs = [(line["query"], {places[id] for id in line["relevant"] if id in places}) for line in lines_of(os.path.join(folder, "queries.jsonl"))]
        self.queries = [query for query, relevant in pairs if relevant]
        self.relevant = [relevant for _, relevant in pairs if relevant]

    def foreign(self):
        """Places of the queries that share no word with any of their tools."""
        said = [stems(" ".join(fields_of(tool).values())) for tool in self.tools]
        asked = [stems(query) for query in self.queries]
        return [place for place, words in enumerate(asked) if not any(words & said[tool] for tool in self.relevant[place])]

    def scores(self, tables, tokenise):
        return embed_queries(tables, tokenise, self.queries) @ embed_tools(tables, tokenise, self.tools).T


def measure(scores, relevant):
    """Mean nDCG@10 and Recall@5, in percent."""
    gains, recalls = [], []
    for row, wanted in zip(scores, relevant):
        top = np.argpartition(-row, min(10, len(row) - 1))[:10]
        top = top[np.argsort(-row[top], kind="stable")]
        hits = np.array([place in wanted for place in top], float)
        ideal = (1 / np.log2(np.arange(min(len(wanted), 10)) + 2)).sum()
        gains.append((hits / np.log2(np.arange(len(hits)) + 2)).sum() / ideal)
        recalls.append(hits[:5].sum() / len(wanted))
    return 100 * np.mean(gains), 100 * np.mean(recalls)


def outcomes(scores, relevant):
    """Cosines of the first tool of each query and whether it is right; once more with the right ones removed."""
    cosines, right = [], []
    for row, wanted in zip(scores, relevant):
        order = np.argsort(-row)
        cosines.append(row[order[0]])
        right.append(order[0] in wanted)
        rest = [place for place in order[: len(wanted) + 1] if place not in wanted]
        cosines.append(row[rest[0]])
        right.append(False)
    return np.array(cosines), np.array(right, float)


def calibrate(samples):
    """The cosine that is as likely right as wrong, and how steeply that changes; every set counts the same."""
    weight = np.concatenate([np.full(len(cosines), 1 / len(cosines)) for cosines, _ in samples])
    x = np.stack([np.concatenate([cosines for cosines, _ in samples]), np.ones(len(weight))], 1)
    y = np.concatenate([right for _, right in samples])
    beta = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ beta))
        curve = (x * (weight * p * (1 - p))[:, None]).T @ x
        beta += np.linalg.solve(curve + 1e-9 * np.eye(2), x.T @ (weight * (y - p)))
    return -beta[1] / beta[0], beta[0]


def report(tables, words, folder):
    """Prints the figures of every set in a folder, and what to calibrate the relevance with."""
    tokenise = Tokeniser({word: row for row, word in enumerate(words)})
    samples = []
    for name in sorted(os.listdir(folder)):
        labelled = Labelled(os.path.join(folder, name))
        scores = labelled.scores(tables, tokenise)
        print(f"{name:32} {'%5.1f / %5.1f' % measure(scores, labelled.relevant)}")
        foreign = labelled.foreign()
        if len(foreign) >= 5:
            some = measure(scores[foreign], [labelled.relevant[place] for place in foreign])
            print(f"{name + '/foreign':32} {'%5.1f / %5.1f' % some}")
        samples.append(outcomes(scores, labelled.relevant))
    print("--middle %.3f --steepness %.2f" % calibrate(samples))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--model", required=True, help="model.npz")
    arguments.add_argument("--sets", required=True, help="a folder of labelled sets")
    given = arguments.parse_args()
    model = dict(np.load(given.model))
    report(model, model["words"], given.sets)
