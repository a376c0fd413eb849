"""The pairs, and the model: one vector a word, a weight for queries and one for tools, and a weight a field."""
import dataclasses

import numpy as np
import torch
import torch.nn.functional as F

from text import FIELDS


@dataclasses.dataclass
class Bags:
    """Rows of texts one after another, with the place of its text for each, and its field."""

    tokens: np.ndarray
    owners: np.ndarray
    fields: np.ndarray

    def only(self, kept):
        return Bags(self.tokens[kept], self.owners[kept], self.fields[kept])

    def lengths(self):
        """For each row, how many rows its field of its text has."""
        key = self.owners * len(FIELDS) + self.fields
        return np.bincount(key)[key]


class Pairs:
    """What prepare.py wrote."""

    def __init__(self, path):
        data = np.load(path)
        self.source, self.group, self.text = data["source"], data["group"], data["text"]
        self.sources, self.glove = [str(name) for name in data["sources"]], data["glove"]
        self.words = len(self.glove)
        self.tokens = {key: data[f"{key}_tokens"] for key in ("query", *FIELDS)}
        self.ends = {key: data[f"{key}_ends"] for key in self.tokens}

    def counts(self):
        return np.bincount(np.concatenate(list(self.tokens.values())), minlength=self.words)

    def pick(self, key, chosen, field):
        ends = self.ends[key]
        begins = np.where(chosen > 0, ends[chosen - 1], 0)
        lengths = ends[chosen] - begins
        owners = np.repeat(np.arange(len(chosen)), lengths)
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return Bags(self.tokens[key][begins[owners] + within], owners, np.full(len(owners), field))

    def queries(self, chosen):
        return self.pick("query", chosen, 0)

    def tools(self, chosen):
        parts = [self.pick(key, chosen, field) for field, key in enumerate(FIELDS)]
        owners = np.concatenate([part.owners for part in parts])
        order = np.argsort(owners, kind="stable")
        tokens = np.concatenate([part.tokens for part in parts])
        fields = np.concatenate([part.fields for part in parts])
        return Bags(tokens[order], owners[order], fields[order])


class Toolvec(torch.nn.Module):
    def __init__(self, start, dims):
        """start: known vectors of the words, one row a word."""
        super().__init__()
        torch.manual_seed(1)
        words, width = start.shape
        self.register_buffer("start", start)
        self.project = torch.nn.Parameter(torch.empty(width, dims))
        torch.nn.init.orthogonal_(self.project)
        # Words that were never seen move with the projection; those that were learn something of their own.
        self.delta = torch.nn.Embedding(words, dims, sparse=True)
        torch.nn.init.normal_(self.delta.weight, std=0.02)
        self.query_weight = torch.nn.Embedding(words, 1, sparse=True)
        self.tool_weight = torch.nn.Embedding(words, 1, sparse=True)
        self.fields = torch.nn.Parameter(torch.tensor([0.7, 0.0, 0.5, 0.0, -0.7]))
        self.scale = torch.nn.Parameter(torch.tensor(3.0))
        self.seen = []

    @torch.no_grad()
    def start_weights(self, weights):
        raw = torch.log(torch.expm1(torch.from_numpy(weights).float().clamp(min=0.02)))
        self.query_weight.weight.copy_(raw[:, None])
        self.tool_weight.weight.copy_(raw[:, None])

    def rows(self, ids):
        return self.delta(ids) + self.start[ids] @ self.project

    def sums(self, bags, factors, weights, count):
        """Sums of weighted vectors, of length 1."""
        unique, back = torch.unique(torch.from_numpy(bags.tokens).long(), return_inverse=True)
        self.seen.append(unique)
        strengths = F.softplus(weights(unique)).squeeze(1)[back] * factors
        offsets = torch.searchsorted(torch.from_numpy(bags.owners), torch.arange(count))
        summed = F.embedding_bag(back, self.rows(unique), offsets, mode="sum", per_sample_weights=strengths)
        return F.normalize(summed, dim=1, eps=1e-6)

    def queries(self, bags, count):
        return self.sums(bags, torch.ones(len(bags.tokens)), self.query_weight, count)

    def tools(self, bags, count):
        lengths = torch.from_numpy(bags.lengths()).float()
        factors = F.softplus(self.fields)[torch.from_numpy(bags.fields)] / lengths.sqrt()
        return self.sums(bags, factors, self.tool_weight, count)

    @torch.no_grad()
    def forget(self, share):
        """Draws the words that were just seen towards where they began."""
        self.delta.weight[torch.unique(torch.cat(self.seen))] *= 1 - share
        self.seen.clear()

    @torch.no_grad()
    def tables(self):
        """What inference needs: vectors, weights of words in queries and in tools, weights of fields."""
        return {
            "vectors": self.rows(torch.arange(len(self.start))).numpy(),
            "query": F.softplus(self.query_weight.weight).squeeze(1).numpy(),
            "tool": F.softplus(self.tool_weight.weight).squeeze(1).numpy(),
            "fields": F.softplus(self.fields).numpy(),
        }
