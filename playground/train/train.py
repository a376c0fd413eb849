"""Trains models on prepared pairs, by symmetric InfoNCE in batches from one source, and averages them."""
import argparse
import math
import os
import time

# Threads of the linear algebra below only get into each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import torch.nn.functional as F

from evaluate import report
from model import Pairs, Toolvec
from text import FIELDS

# How often a pair is seen in an epoch, by how its source begins: dictionaries less, what is like tools more.
SHARES = {"wn-noun": 0.4, "wn-adj": 0.5, "mcp-": 2, "apieces": 1.3, "own": 4}
DEFAULTS = {
    "dims": (int, 192, "dimensions while training"),
    "keep": (int, 192, "dimensions in the end: those in which tools differ most"),
    "epochs": (int, 3, ""),
    "batch": (int, 768, ""),
    "rate": (float, 2e-3, "of Adam, at its highest"),
    "dropout": (float, 0.15, "share of words that are hidden"),
    "shared": (float, 0.1, "share of queries without the words that they have in common with the tool"),
    "rare": (float, 1e-3, "a in a / (a + p): what a word of probability p weighs at first"),
    "decay": (float, 0.003, "how much of what a word has learnt it forgets each time it is seen"),
}


def start_vectors(glove, use, keep):
    """GloVe beside the first components of USE, each of length 1; zeros where GloVe does not know a word."""
    known = (glove != 0).any(1)
    glove = np.where(known[:, None], glove - glove[known].mean(0), 0)
    glove[known] /= np.linalg.norm(glove[known], axis=1, keepdims=True)
    use = use - use.mean(0)
    _, axes = np.linalg.eigh(use.T @ use)
    use = use @ axes[:, ::-1][:, :keep]
    use /= np.maximum(np.linalg.norm(use, axis=1, keepdims=True), 1e-6)
    return torch.tensor(np.concatenate([glove, use], 1), dtype=torch.float32)


def batches(pairs, size, rng):
    """Places of pairs for one epoch, each batch from one source."""
    out = []
    for source, name in enumerate(pairs.sources):
        share = next((share for prefix, share in SHARES.items() if name.startswith(prefix)), 1)
        places = rng.permutation(np.flatnonzero(pairs.source == source))
        places = np.concatenate([places] * int(share) + [places[: int(len(places) * (share % 1))]])
        out.extend(np.array_split(places, max(1, round(len(places) / size))))
    return [out[place] for place in rng.permutation(len(out))]


def loss_of(model, pairs, chosen, given, rng):
    """How badly each query of a batch finds its tool among all tools of the batch, and the other way round."""
    count = len(chosen)
    query, tool = pairs.queries(chosen), pairs.tools(chosen)
    hidden = rng.random(len(query.tokens)) < given.dropout
    # Without the words that both sides have, the others learn to stand for them.
    common = np.isin(query.owners * pairs.words + query.tokens, tool.owners * pairs.words + tool.tokens)
    hidden |= common & (rng.random(count) < given.shared)[query.owners]
    query, tool = query.only(~hidden), tool.only(rng.random(len(tool.tokens)) >= given.dropout)
    whole = (np.bincount(query.owners, minlength=count) > 0) & (np.bincount(tool.owners, minlength=count) > 0)
    if whole.sum() < 8:
        return None
    kept = torch.from_numpy(np.flatnonzero(whole))
    logits = model.queries(query, count)[kept] @ model.tools(tool, count)[kept].T * model.scale.exp()
    # Neither another pair of the group nor another answer to the same text is wrong.
    group, text = pairs.group[chosen][whole], pairs.text[chosen][whole]
    fair = (group[:, None] == group[None, :]) | (text[:, None] == text[None, :])
    np.fill_diagonal(fair, False)
    logits = logits.masked_fill(torch.from_numpy(fair), -1e4)
    target = torch.arange(len(kept))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


def train(pairs, start, given, seed):
    """One model. All begin alike, and differ in what they see when, so that their average means something."""
    rng = np.random.default_rng(seed)
    model = Toolvec(start, given.dims)
    counts = pairs.counts()
    model.start_weights(given.rare / (given.rare + counts / counts.sum()))
    rows = [model.delta.weight, model.query_weight.weight, model.tool_weight.weight]
    optimisers = [torch.optim.SparseAdam(rows), torch.optim.Adam([model.project, model.fields, model.scale])]
    plan = [part for _ in range(given.epochs) for part in batches(pairs, given.batch, rng)]
    began, total = time.time(), 0.0
    for step, chosen in enumerate(plan):
        factor = max(0.01, min(1, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * step / len(plan))))
        loss = loss_of(model, pairs, chosen, given, rng)
        if loss is None:
            continue
        for optimiser in optimisers:
            optimiser.param_groups[0]["lr"] = given.rate * factor
            optimiser.zero_grad(set_to_none=True)
        loss.backward()
        for optimiser in optimisers:
            optimiser.step()
        model.forget(given.decay * factor)
        total += loss.item()
        if (step + 1) % 200 == 0:
            print(f"seed {seed}, {step + 1}/{len(plan)}: loss {total / 200:.3f}, {time.time() - began:.0f} s", flush=True)
            total = 0.0
    return model.tables()


def shortened(tables, pairs, keep):
    """The directions in which tools differ most, those first."""
    chosen = np.arange(0, len(pairs.source), 15)
    tool = pairs.tools(chosen)
    factors = tables["tool"][tool.tokens] * tables["fields"][tool.fields] / tool.lengths() ** 0.5
    vectors = np.zeros((len(chosen), tables["vectors"].shape[1]), np.float32)
    np.add.at(vectors, tool.owners, tables["vectors"][tool.tokens] * factors[:, None].astype(np.float32))
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    return {**tables, "vectors": tables["vectors"] @ axes[:, ::-1][:, :keep]}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--data", required=True, help="the folder that prepare.py wrote, with use.f32")
    arguments.add_argument("--out", required=True, help="model.npz")
    arguments.add_argument("--sets", help="a folder of labelled sets to report figures on")
    arguments.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    for name, (kind, default, about) in DEFAULTS.items():
        arguments.add_argument(f"--{name}", type=kind, default=default, help=about)
    given = arguments.parse_args()
    torch.set_num_threads(1)

    pairs = Pairs(os.path.join(given.data, "pairs.npz"))
    with open(os.path.join(given.data, "words.txt"), encoding="utf-8") as file:
        words = file.read().split("\n")
    use = np.fromfile(os.path.join(given.data, "use.f32"), np.float32).reshape(-1, 512)
    start = start_vectors(pairs.glove, use, 160)
    models = [train(pairs, start, given, seed) for seed in given.seeds]
    tables = {name: np.mean([model[name] for model in models], 0) for name in models[0]}
    tables = shortened(tables, pairs, given.keep)
    np.savez(given.out, **tables, words=np.array(words))
    print("fields", dict(zip(FIELDS, tables["fields"].round(2).tolist())))
    if given.sets:
        report(tables, words, given.sets)


main()
