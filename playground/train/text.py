"""Words of a text, and the fields of a tool. plugins/search/embedding/words.ts does the very same."""
import re
import unicodedata

CHUNK = re.compile(r"[A-Za-z0-9]+|[^\x00-\x7f]+")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
FIELDS = ("name", "server", "first", "rest", "params")
# Tokens beyond these are left out: a long description says little more, and a pasted page is not a query.
LIMITS = {"query": 64, "name": 16, "server": 16, "first": 48, "rest": 96, "params": 32}
LONGEST_TEXT = 20_000
LONGEST_COMPOUND = 40


def plain(text):
    """Accents go; what is not a letter or digit separates."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text)
    return "".join(" " if c > "\x7f" and unicodedata.category(c)[0] not in "LNM" else "" if "\u0300" <= c <= "\u036f" else c for c in text)


def fnv(text):
    """FNV-1a over UTF-16 units with a final mix; the file knows words by this alone."""
    h = 0x811C9DC5
    data = text.encode("utf-16-le", "surrogatepass")
    for i in range(0, len(data), 2):
        h = ((h ^ (data[i] | data[i + 1] << 8)) * 0x01000193) & 0xFFFFFFFF
    h ^= h >> 16
    h = (h * 0x85EBCA6B) & 0xFFFFFFFF
    h ^= h >> 13
    h = (h * 0xC2B2AE35) & 0xFFFFFFFF
    return h ^ (h >> 16)


class Tokeniser:
    """Turns a text into rows: of whole words, else of their parts. What is not known is left out."""

    def __init__(self, rows):
        self.rows = rows
        self.memo = {}

    def __call__(self, text, limit):
        out = []
        for chunk in CHUNK.findall(plain(text[:LONGEST_TEXT])):
            got = self.memo.get(chunk)
            if got is None:
                got = self.memo[chunk] = self.chunk(chunk)
            out.extend(got)
            if len(out) >= limit:
                return out[:limit]
        return out

    def chunk(self, chunk):
        row = self.rows.get(chunk.lower())
        if row is not None:
            return [row]
        if not chunk.isascii():
            return []
        return [row for part in PART.findall(chunk) for row in self.part(part.lower())]

    def part(self, part):
        row = self.rows.get(part)
        if row is not None:
            return [row]
        # Two known words written as one.
        if 6 <= len(part) <= LONGEST_COMPOUND and part.isalpha():
            for cut in range(len(part) - 3, 2, -1):
                head, tail = self.rows.get(part[:cut]), self.rows.get(part[cut:])
                if head is not None and tail is not None:
                    return [head, tail]
        return []


SENTENCE = re.compile(r"(?:[.!?](?=\s)|\n)")


def sentences(description):
    """The first sentence and the rest."""
    text = description.strip()
    found = SENTENCE.search(text)
    if not found:
        return text, ""
    return text[:found.end()], text[found.end():]


def fields_of(tool):
    """The fields of a tool as a server lists it."""
    text = tool.get("description")
    first, rest = sentences(text if text is not None else tool.get("title") or "")
    schema = tool.get("inputSchema") or {}
    params = schema.get("properties") if isinstance(schema, dict) else None
    params = params if isinstance(params, dict) else {}
    about = [each["description"] for each in params.values() if isinstance(each, dict) and isinstance(each.get("description"), str)]
    return {
        "name": tool["name"],
        "server": " ".join([tool.get("server") or "", *(tool.get("tags") or [])]),
        "first": first,
        "rest": " ".join([rest, *about]),
        "params": " ".join(params),
    }
