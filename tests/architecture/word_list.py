"""The words that this project avoids, and what it writes instead; GLOSSARY.md says why.

`tests/architecture/words.py` searches for them, `test_words.py` holds every folder to its limit.
"""

from __future__ import annotations

from dataclasses import dataclass

# Names that say a grammatical role and not a concept, as variables, parameters, fields or functions.
BANNED_NAMES = {
    "made": "result, or the noun",
    "found": "matches, or the noun",
    "one": "the noun: node, line, tensor",
    "given": "its name; args, actual",
    "wanted": "expected, requested",
    "kept": "cached, saved, retained",
    "told": "recorded, reported",
    "said": "recorded, reported",
    "held": "holder, references",
    "asked": "requested",
    "begun": "started",
    "shown": "visible, output",
    "chosen": "selected, choice",
    "taken": "arguments, used",
    "whole": "the noun: text, range, tensor",
    "mine": "own, self_, the noun",
    "theirs": "other, expected",
    "ours": "actual, own",
    "place": "index, offset, position, location",
    "places": "indices, offsets, positions, locations",
    "words": "the noun; words only for str.split()",
    "texts": "strings, sources",
    "sort": "kind",
    "most": "max_x",
    "least": "min_x",
    "lit": "highlighted",
    "spot": "position, cursor",
    "gone": "removed, erased, freed",
    "born": "created_at",
    "beside": "next_to, neighbour",
    "behind": "after, ancestors",
    "what": "the noun",
    "how": "mode, method, description",
    "why": "reason",
    "where": "position, path, mask",
    "here": "the noun; current_x",
    "there": "the noun",
    "now": "current_x; now only for a time",
    "rest": "remainder, tail; *rest is fine",
}

# Any identifier: the pattern must match the whole name.
BANNED_NAME_PATTERNS = {
    r"k(Most|Least|Longest|Deepest|Widest|Largest)([A-Z]\w*)?": "kMaxX, kMinX",
    r"_?(MOST|LEAST|LONGEST|DEEPEST|WIDEST)(_\w+)?": "MAX_X, MIN_X",
    r"_?(most|least)_\w+": "max_x, min_x",
    r"(\w*_)?(tell|tells|told|says|said)(_\w*)?": "record, report, print",
    r"\w+_again": "the noun, or what differs",
}


@dataclass(frozen=True)
class Phrase:
    """A phrase avoided in prose. In a question `questions` allows it."""

    name: str
    pattern: str
    instead: str
    questions: bool = False


PHRASES = (
    Phrase("tell", r"(tells?|told|telling)(?! apart)", "record, report, say which"),
    Phrase("nobody", r"nobody|somebody|whoever", "no caller, another holder, the caller"),
    Phrase(
        "who",
        r"(who|those who) (reads|writes|holds|made|makes|runs|calls|asks|owns)",
        "the reader, the caller",
        questions=True,
    ),
    Phrase("hand on", r"hand(s|ed)? (on|out|over)", "pass, forward, return"),
    Phrase("let go", r"lets? go|letting go", "release, free"),
    Phrase("beside", r"beside", "next to"),
    Phrase("behind", r"behind", "after, below, in back of"),
    Phrase(
        "stand",
        r"stands? (in|at|on|where|there|behind|before|beside|above|below|alone)",
        "is, appears",
    ),
    Phrase(
        "lie",
        r"(lies|lie|lay) (in|at|on|where|there|as|over|side|within|together|one|across)",
        "is stored, is",
    ),
    Phrase(
        "is no",
        r"(?<!there )(is|are|was|were) no (?!longer|more|less|different)\w+",
        "is not a",
    ),
    Phrase("of its own", r"of (its|their|one's|our|a program's) own", "has its own X"),
    Phrase("texts", r"texts", "strings, sources"),
    Phrase("whole number", r"whole numbers?", "integer"),
    Phrase("mend", r"dear(er)?|mend(s|ed|ing)?", "fix, correct, repair; expensive"),
    Phrase("is asked", r"(is|are|was|were) asked( for)?|asked for", "requested, queried"),
    Phrase("go through", r"(go(es)?|gone|going) through", "iterate over, use"),
    Phrase("give back", r"(gives?|gave|given|giving) back", "return"),
    Phrase("anew", r"anew|once more|meanwhile|alike|the like", "again; in the meantime; such as x"),
    Phrase("go on", r"goes on|go on|went on", "continue"),
    Phrase("so many", r"so many(?! that)", "this many, the number"),
    Phrase("made of", r"made of", "consists of, composed of"),
    Phrase(
        "what was",
        r"what (is|was|are|were) (made|told|given|kept|wanted|asked|held)",
        "the result, the argument",
    ),
    Phrase("where there is none", r"where (it|there|they) (is|are) (none|not|one|no)", "if ..."),
    Phrase(
        "of what",
        r"(in|of|to|by|from|with) what (it|they|is|are|was|the)",
        "the noun",
        questions=True,
    ),
    Phrase("no x is called", r"no \w+ is called", "unknown x"),
    Phrase("round", r"(each|every|one|last|more|of the|next) rounds?", "iteration"),
    Phrase("came to the compiler", r"(came|comes?) to the compiler", "compiled"),
    Phrase("Instead:", r"Instead: ", "Hint: "),
)

# How a docstring (Python) or the comment above a declaration (headers) must not begin.
BANNED_HEAD = r"(What|Whether|How|Where|Which|Who|Of|From)\b"
BANNED_HEAD_INSTEAD = "a verb for a function, a noun for a class or a module"


@dataclass(frozen=True)
class Exemption:
    """Hits that are right: those of `rule` (`name`: of every name) in `files`, on lines with `line`."""

    rule: str
    files: str
    line: str
    reason: str


EXEMPTIONS = (
    Exemption("name ours", "{tests,benchmarks}/**", "", "compares the engine with PyTorch"),
    Exemption("name theirs", "{tests,benchmarks}/**", "", "compares the engine with PyTorch"),
    Exemption("name mine", "tests/**", r"\btheirs\b", "compares two runs"),
    Exemption(
        "name where", "{engine,benchmarks}/**", r"def where|where: .*(Tensor|None)", "PyTorch's"
    ),
    Exemption(
        "name sort", "{engine,csrc,benchmarks}/**", r"(def|Tensor\S*|tuple<.*>) sort\(", "PyTorch's"
    ),
    Exemption("name one", "**", r"\bone\w* = .*(\b1\b|\b1\.0|ones?\()", "the number 1"),
    Exemption("name one", "lessons/25_fusion/**", "", "the function that becomes one group"),
    Exemption(
        r"name _?(most|least)_\w+",
        "**",
        r"\bleast_squares|most_(frequent|common)",
        "the fixed terms",
    ),
    Exemption("name words", "**", r"\.split\(", "the words of a string"),
    Exemption("name now", "**", r"time|clock|monotonic|perf_counter", "a time"),
    Exemption(
        "name now", "tests/inspect/trace_builder.py", "def now", "the present moment of a stream"
    ),
    Exemption("name why", "{lessons,tui,engine}/**", "", "a lesson's `why`, the Answer to `W`"),
    Exemption("tell", "**", r"\bf?\w*\.tell\b", "file.tell"),
    Exemption(
        r"name (\w*_)?(tell|tells|told|says|said)(_\w*)?",
        "tests/**",
        r"def test_\w*(says?|tells?|said|told)",
        "a test's name is a sentence",
    ),
    Exemption(
        "name", "tests/engine/jit/programs/**", "", "PyTorch's recorded graphs have these names"
    ),
    Exemption("name tell", "**", r"\btell\(", "file.tell"),
    Exemption("nobody", "lessons/*/**", "", "a lesson speaks to a person"),
    Exemption("go on", "lessons/*/**", "", "a lesson speaks to a person"),
    Exemption("who", "{tui,lessons,engine/inspect,tests/tui}/**", r"who (wrote|owns)", "keys w, o"),
    Exemption("round", "**", r"game|roundin|half|digits", "rounding, a round of a game"),
    Exemption("made of", "lessons/**", "", "the physical sense"),
)
