"""What do the usual classifiers and log parsers make of these logs?"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from drain3 import TemplateMiner
from drain3.masking import MaskingInstruction
from drain3.template_miner_config import TemplateMinerConfig
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from dataset.baselines.method import Example, Method, Reader, remedy_of

_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_HEADER = re.compile(r"^.*?\[[\w./]+:\d+\] ")
"""What a record begins with, and another carrier of the same record does not."""
_OTHERS_PER_CAUSE = 40
"""Lines that are no cause, of each log: more of them say the same."""
_ALL = ("verdict", "root_cause", "category", "remedy")
_FAILED = ("fault", "unknown_fault", "hang")


def _classifier(texts: Sequence[str], classes: Sequence[str]) -> Pipeline:
    words = TfidfVectorizer(
        preprocessor=_plain, token_pattern=r"\w{2,}", ngram_range=(1, 2), sublinear_tf=True, min_df=2
    )
    model = make_pipeline(words, LogisticRegression(C=20, max_iter=2000, class_weight="balanced"))
    return model.fit(texts, classes)


def _plain(text: str) -> str:
    return _NUMBER.sub("0", text).lower()


def _some_lines(example: Example) -> list[tuple[str, bool]]:
    lines = list(dict.fromkeys(filter(str.strip, example.text.split("\n"))))
    causes = [line for line in lines if example.is_cause(line)]
    others = [line for line in lines if not example.is_cause(line)]
    step = max(1, len(others) // _OTHERS_PER_CAUSE)
    return [(line, True) for line in causes] + [(line, False) for line in others[::step]]


def tf_idf(examples: Sequence[Example]) -> Reader:
    """Verdict and category of the whole log, the cause as the likeliest line, the remedy of the likest log of that category."""
    verdicts = _classifier([each.text for each in examples], [each.verdict for each in examples])
    faults = [each for each in examples if each.verdict == "fault"]
    categories = _classifier([each.text for each in faults], [str(each.category) for each in faults])
    lines = [pair for each in faults for pair in _some_lines(each)]
    causes = _classifier([line for line, _ in lines], [str(is_cause) for _, is_cause in lines])
    words = verdicts[0]
    known = words.transform([each.text for each in faults])

    def read(text: str, _: Mapping[str, Any]) -> Mapping[str, Any]:
        verdict = str(verdicts.predict([text])[0])
        if verdict not in _FAILED:
            return {"verdict": verdict}
        said = list(filter(str.strip, text.split("\n")))
        category = str(categories.predict([text])[0])
        likeness = (known @ words.transform([text]).T).toarray().ravel()
        same = np.array([each.category == category for each in faults])
        return {
            "verdict": verdict,
            "root_cause": {"text": said[int(causes.predict_proba(said)[:, 1].argmax())]},
            "finding": {"category": category},
            "remedy": remedy_of(faults[int(np.where(same, likeness, -1).argmax())]),
        }

    return read


def _miner() -> TemplateMiner:
    config = TemplateMinerConfig()
    config.drain_sim_th, config.drain_depth, config.drain_max_children = 0.5, 5, 200
    config.masking_instructions = [MaskingInstruction(_NUMBER.pattern, "NUM")]
    return TemplateMiner(config=config)


def drain(examples: Sequence[Example]) -> Reader:
    """A log is the templates that Drain finds in it; all is taken from the likest one, but the cause: by the template that is one most often."""
    miner = _miner()
    for each in examples:
        for line in _messages(each.text):
            miner.add_log_message(line)
    templates = [set(_templates(miner, each.text)) for each in examples]
    seen = Counter(template for each in templates for template in each)
    weights = {template: math.log(len(examples) / count) for template, count in seen.items()}
    lengths = [math.sqrt(sum(weights[t] ** 2 for t in each)) or 1.0 for each in templates]
    causes = Counter(
        cluster.cluster_id
        for each in examples
        for line in filter(each.is_cause, _messages(each.text))
        if (cluster := miner.match(line))
    )

    def read(text: str, _: Mapping[str, Any]) -> Mapping[str, Any]:
        mine = _templates(miner, text)
        shared = [sum(weights[t] ** 2 for t in each & mine.keys()) for each in templates]
        like = examples[max(range(len(examples)), key=lambda i: shared[i] / lengths[i])]
        if like.verdict not in _FAILED:
            return {"verdict": like.verdict}
        likeliest = max(mine, key=lambda t: causes[t] / seen[t] if t in seen else 0.0, default=0)
        return {
            "verdict": like.verdict,
            "root_cause": {"text": mine.get(likeliest, "")},
            "finding": {"category": like.category},
            "remedy": remedy_of(like),
        }

    return read


def _messages(text: str) -> list[str]:
    return [_HEADER.sub("", line) for line in text.split("\n") if line.strip()]


def _templates(miner: TemplateMiner, text: str) -> dict[int, str]:
    """Each with the first message of it."""
    found: dict[int, str] = {}
    for message in _messages(text):
        if cluster := miner.match(message):
            found.setdefault(cluster.cluster_id, message)
    return found


METHODS = [
    Method("TF-IDF and logistic regression (scikit-learn)", tf_idf, _ALL),
    Method("log templates (drain3) and nearest neighbour", drain, _ALL),
]
