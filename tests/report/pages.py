"""Pages taken apart, and the facts they are made of."""

from html.parser import HTMLParser

import pandas as pd
from sklearn.datasets import load_diabetes, load_iris

from hornbeam.report.facts import gather

IRIS = load_iris(as_frame=True)
DIABETES = load_diabetes(as_frame=True)
SPECIES = pd.Series(IRIS.target_names[IRIS.target], name="species")

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><b>",
    "javascript:alert(1)",
    "]]>-->",
]


class Page(HTMLParser):
    """The tags, the texts and the attributes of a page."""

    def __init__(self, text):
        super().__init__()
        self.text, self.tags, self.attributes, self.texts, self._open = text, [], [], [], []
        self.scripts, self.styles = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]
        self._open = [tag]

    def handle_data(self, data):
        self.texts.append(data)
        if self._open == ["script"]:
            self.scripts.append(data)
        if self._open == ["style"]:
            self.styles.append(data)

    def handle_endtag(self, tag):
        self._open = []


def facts_of(model, X, y, **options):
    given = {"X_train": None, "y_train": None, "cv": 3, "target_name": None, "seed": 0, **options}
    return gather(model, X, y, **given)
