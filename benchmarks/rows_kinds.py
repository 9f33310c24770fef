"""Queries of every kind beside the peers, and what filters cost."""

import random
import re
from collections import Counter
from functools import partial
from statistics import median

from corpus import SEED, STOP_WORDS, queries
from measuring import Line, milliseconds, percentile, processor_seconds, ratio
from peers import Bm25s, Fts5, Tantivy
from rows_engine import CALLER, QUERY_COUNT, RULES, SETTINGS, at_rest, chunk_texts, searching

from indexerd.access import AccessRules, PathRule
from indexerd.search.eligibility import ViewCache
from indexerd.search.filters import filtered
from indexerd.search.rank import Ranking
from indexerd.search.request import SearchRequest
from indexerd.search.words import query_words

EACH = 29
WORD = re.compile(r"\b[a-z]{3,}\b")
CHINESE = re.compile(r"[\u4e00-\u9fff]{2,8}")
IDENTIFIER = re.compile(r"\b(?:[A-Za-z]+(?:_[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+)\b")


def kinds_of_queries(texts):
    """Return queries by kind, from a fixed seed; kinds that the corpus has none of are left out."""
    choose, stop = random.Random(SEED), STOP_WORDS.split()
    holding = Counter(word for text in texts for word in set(WORD.findall(text)))
    for word in stop:
        holding.pop(word, None)
    known = sorted(holding)
    some = choose.sample(texts, min(len(texts), 5000))
    chinese = sorted({found for text in some for found in CHINESE.findall(text)})
    symbols = sorted({found for text in some for found in IDENTIFIER.findall(text)})
    sentences = [words for text in some if len(words := text.replace('"', " ").split()) >= 20]
    rare = [word for word in known if holding[word] <= 2]
    common = [word for word, _ in holding.most_common(60)]
    made = {
        "rare word": lambda: choose.choice(rare),
        "common words": lambda: " ".join(choose.sample(common, choose.randint(1, 3))),
        "long, 20 words": lambda: " ".join(choose.choice(sentences)[:20]),
        "Chinese": lambda: choose.choice(chinese),
        "identifier": lambda: choose.choice(symbols),
        "all stop words": lambda: " ".join(choose.sample(stop, choose.randint(2, 5))),
        "60 words": lambda: " ".join(choose.sample(known, 60)),
    }
    has = {"Chinese": chinese, "identifier": symbols, "long, 20 words": sentences, "rare word": rare}
    return {kind: [make() for _ in range(EACH)] for kind, make in made.items() if has.get(kind, True)}


def row_kinds(files, place):
    """200 queries of mixed kinds, k = 10 and 100, in the engine beside the peers."""
    texts = chunk_texts(files)
    store = at_rest(place / "ours" / "state", files)
    peers = {"tantivy": Tantivy(place / "t"), "FTS5": Fts5(place / "f"), "bm25s": Bm25s(place / "b")}
    for peer in peers.values():
        peer.ingest(texts)
    searches = {"ours": searching(store)} | {name: peer.query for name, peer in peers.items()}
    asked = kinds_of_queries(texts)
    for k in (10, 100):
        taken = {}
        # The first round warms up.
        for turn in range(4):
            for kind, some in asked.items():
                for text in some:
                    for name, search in searches.items():
                        took = processor_seconds(lambda search=search, text=text, k=k: search(text, k))
                        if turn:
                            taken.setdefault((kind, name), []).append(took)
        for kind in asked if k == 10 else ():
            yield compared(f"{kind}, k={k}, p50", {name: median(taken[kind, name]) for name in searches})
        for share in (0.5, 0.99):
            every = {name: [took for kind in asked for took in taken[kind, name]] for name in searches}
            figures = {name: percentile(times, share) for name, times in every.items()}
            yield compared(f"all {EACH * len(asked)}, k={k}, p{share * 100:.0f}", figures)
    store.close()


def compared(what, figures):
    beside = ", ".join(f"{name} {figure * 1e3:.2f}" for name, figure in figures.items() if name != "ours")
    return Line(what, milliseconds(figures["ours"]), beside, ratio(figures["ours"], figures["tantivy"]))


def row_filtered(files, place):
    """Queries with a path glob, a tag, roles, that leave half and a hundredth, beside the same without."""
    files = [marked(number, *file) for number, file in enumerate(files)]
    store = at_rest(place / "ours" / "state", files)
    asked = queries(chunk_texts(files), QUERY_COUNT)
    for part, glob, *others in (("half", "[0-9][02468]-*", "[0-9][13579]-*"), ("1 %", "00-*", "[1-9]?-*", "0[1-9]-*")):
        hidden = AccessRules(rules=tuple(PathRule(match=f"**/{other}", acl=("red",)) for other in others))
        for kind, request, rules in (
            ("path glob, leaves", SearchRequest("", paths=(f"**/{glob}",)), RULES),
            ("tag, leaves", SearchRequest("", tags=(f"of{part[0]}",)), RULES),
            ("roles, leave", SearchRequest(""), hidden),
        ):
            yield measured(store, f"{kind} {part}", request, rules, asked)
    store.close()


def marked(number, name, data):
    """Return a file with its number, of two digits, in its name, and a tag for every second and for every hundredth."""
    folder, _, base = name.rpartition("/")
    tags = ["ofh"] * (number % 2 == 0) + ["of1"] * (number % 100 == 0)
    front, rest = (b"", data[4:]) if data.startswith(b"---\n") else (b"---\n", data)
    return f"{folder}/{number % 100:02d}-{base}", b"---\ntags: [%s]\n%s%s" % (", ".join(tags).encode(), front, rest)


def measured(store, kind, request, rules, asked):
    """Measure the queries of one without roles and with a filter, and of one with the role and no filter, in turn."""
    views, languages, snapshot = ViewCache(), SETTINGS.all_languages(), store.snapshot()

    def search(text, request, roles):
        base = views.base_view(snapshot, CALLER._replace(roles=frozenset(roles)), rules, frozenset())
        view = filtered(base, request, languages, lambda paths: [0] * len(paths), rules)
        Ranking(view, query_words(text, languages, prefix=False)).top(10)
        return view.n

    searches = {
        "free": partial(search, request=SearchRequest(""), roles=("red",)),
        "with": partial(search, request=request, roles=()),
    }
    first = {name: processor_seconds(partial(one, asked[0])) for name, one in searches.items()}
    taken = {name: [] for name in searches}
    for text in asked * 3:
        for name, one in searches.items():
            taken[name].append(processor_seconds(partial(one, text)))
    mine, free = (median(taken[name][len(asked) :]) for name in ("with", "free"))
    share = searches["with"](asked[0]) / searches["free"](asked[0])
    what = f"{kind} ({share:.1%} of passages), p50; the first {milliseconds(first['with'])}"
    return Line(what, milliseconds(mine), f"without {milliseconds(free)}", ratio(mine, free))


ROWS = {"kinds": row_kinds, "filtered": row_filtered}
