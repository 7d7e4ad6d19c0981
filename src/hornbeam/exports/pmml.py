"""A model as PMML 4.4: XML for programs in Java and in banks, that read trees and nothing newer.

    DataDictionary   the columns, their categories, and the answer
    TreeModel        a tree: a test is a predicate on each child, missing values go to `defaultChild`
    MiningModel      trees together: a sum, a weighted average, a weighted median, or a chain, in which scores
                     become class shares in a RegressionModel

What a predicate cannot tell of a row for lack of a value is unknown, and an unknown test sends the row to
`defaultChild`; stand-ins are predicates of the kind `surrogate`. A category that was not seen is read as a
missing value, or as it is where the trees send it elsewhere (pmml_tests.py).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from hornbeam._core import version
from hornbeam.data.wording import shown
from hornbeam.errors import ExportError
from hornbeam.exports.columns import GivenColumn, InputColumn
from hornbeam.exports.pmml_dates import date_fields
from hornbeam.exports.pmml_tests import NOTHING, Tests, attribute, escaped, text_of_category
from hornbeam.exports.portable import Output, PortableModel, PortableTree

__all__ = ["PmmlNames", "header_of", "notes_on", "pmml_of"]

_LARGEST_INTEGER = 2**31 - 1  # of the type that readers in Java take for "integer"
_MOST_INDENT = 30
_DEPTH_OF_JAVA = 80  # it reads elements up to 100 deep; a test is at most 14 deeper than its level

Lines = Iterator[str]
Function = Literal["regression", "classification"]


def header_of(lines: Sequence[str]) -> str:
    """Open the document and say what is said of it."""
    notes = "".join(f"\n  <Annotation>{escaped(line)}</Annotation>" for line in lines)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">\n'
        f' <Header>\n  <Application name="hornbeam" version={attribute(version)}/>{notes}\n </Header>\n'
    )


def pmml_of(model: PortableModel) -> str:
    """Write what comes after the header."""
    return "\n".join(_Document(model).lines()) + "\n"


class PmmlNames:
    """What is called how: answers of PMML have names among those of the columns."""

    def __init__(self, model: PortableModel) -> None:
        several = len(model.outputs) > 1
        ends = [f"_{k}" if several else "" for k in range(len(model.outputs))]
        self.predictions = [f"prediction{end}" for end in ends]
        self.shares = [
            [f"probability{end}_{_label_text(label)}" for label in output.labels or ()]
            for end, output in zip(ends, model.outputs, strict=True)
        ]
        self.columns = [given.name for given in model.given]
        self._taken = {*self.columns, *self.answers}

    @property
    def answers(self) -> list[str]:
        """The names of all answers."""
        return [*self.predictions, *(name for some in self.shares for name in some)]

    def unlike(self, name: str) -> str:
        """Make a name for something of our own that nothing else has."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def check(self) -> None:
        """Refuse what XML cannot hold, and columns that are called like an answer."""
        for name in [*self.columns, *self.answers]:
            if not name or not is_xml(name):
                raise ExportError(
                    f"The name {shown(name)} is empty or holds a character that XML cannot hold, so PMML "
                    "cannot hold it. Rename the column or the class."
                )
        for name in self.columns:
            if name in self.answers:
                raise ExportError(
                    f"The column {shown(name)} has the name of an answer of the model. Rename the column."
                )


def is_xml(text: str) -> bool:
    """Tell whether XML has a form for each character of a text."""
    return all(
        character in "\t\n\r"
        or (" " <= character <= "\ud7ff" or "\ue000" <= character <= "\ufffd" or character > "\uffff")
        for character in text
    )


def _label_text(label: Any) -> str:
    return ("true" if label else "false") if isinstance(label, bool) else str(label)


class _Document:
    def __init__(self, model: PortableModel) -> None:
        self.model = model
        self.names = PmmlNames(model)
        self.names.check()
        self.fields = tuple(
            column if column.part is None else replace(column, name=self.names.unlike(_field_name(column)))
            for column in model.columns
        )
        self.tests = Tests(replace(model, columns=self.fields), self.names.unlike(NOTHING))
        self._roots_left = [self.tests.of_root]
        for column in model.columns:
            _check_categories(column)
        for output in model.outputs:
            _check_labels(output)

    @property
    def function(self) -> Function:
        return "classification" if self.model.has_classes else "regression"

    @property
    def used(self) -> tuple[int, ...]:
        if self.model.refuses_missing or self.model.refuses_unseen:
            return tuple(range(len(self.model.columns)))
        return self.model.columns_tested

    def lines(self) -> Lines:
        yield " <DataDictionary>"
        for given in self.model.given:
            yield from self._column_field(given)
        if len(self.model.outputs) == 1:
            yield from self._answer_field(self.names.predictions[0], self.model.outputs[0])
        yield " </DataDictionary>"
        derived = [*date_fields(self.fields), *self._nothing()]
        if derived:
            yield from (" <TransformationDictionary>", *derived, " </TransformationDictionary>")
        if len(self.model.outputs) > 1:
            yield from self._several_outputs()
        else:
            yield from self._model(0, self.names.predictions[0])
        yield "</PMML>"

    def _nothing(self) -> Lines:
        if self.tests.needs_nothing:
            name = attribute(self.tests.nothing)
            yield f'  <DerivedField name={name} optype="continuous" dataType="double">'
            yield '   <Constant dataType="double" missing="true"/>'
            yield "  </DerivedField>"

    # --- Fields ------------------------------------------------------------------------------------------

    @staticmethod
    def _column_field(given: GivenColumn) -> Lines:
        name, column = attribute(given.name), given.column
        if given.is_date:
            yield f'  <DataField name={name} optype="continuous" dataType="dateTime"/>'
            return
        if column.categories is None:
            yield f'  <DataField name={name} optype="continuous" dataType="double"/>'
            return
        kind = "ordinal" if column.kind == "ordinal" else "categorical"
        dtype = {str: "string", bool: "boolean"}.get(column.category_type, "double")
        yield f'  <DataField name={name} optype="{kind}" dataType="{dtype}">'
        for category in column.categories:
            yield f"   <Value value={attribute(text_of_category(category))}/>"
        yield "  </DataField>"

    def _answer_field(self, name: str, output: Output) -> Lines:
        kind = "continuous" if output.labels is None else "categorical"
        field = f'name={attribute(name)} optype="{kind}" dataType="{_label_type(output)}"'
        if output.labels is None:
            yield f"  <DataField {field}/>"
            return
        yield f"  <DataField {field}>"
        for label in output.labels:
            yield f"   <Value value={attribute(_label_text(label))}/>"
        yield "  </DataField>"

    def _schema(self, columns: Sequence[int], target: str | None = None, *, given: bool = False) -> Lines:
        """List the fields that a model reads; `given` where they come from outside."""
        yield "<MiningSchema>"
        if target is not None:
            yield f' <MiningField name={attribute(target)} usageType="target"/>'
        for given_column in self.model.given:
            if not set(given_column.places) & set(columns):
                continue
            column = given_column.column
            more = ""
            if column.categories is not None:
                more += f' invalidValueTreatment="{self.tests.unseen_treatment(column)}"'
            if given and self.model.refuses_missing:
                more += ' missingValueTreatment="returnInvalid"'
            yield f" <MiningField name={attribute(given_column.name)}{more}/>"
        yield "</MiningSchema>"

    def _answers(self, k: int) -> Lines:
        """Name the class shares of an output."""
        output = self.model.outputs[k]
        if output.labels is not None:
            yield "<Output>"
            yield from _share_fields(output, self.names.shares[k])
            yield "</Output>"

    # --- Models ------------------------------------------------------------------------------------------

    def _several_outputs(self) -> Lines:
        """Have a model for each thing that is predicted, one after the other; all of them answer."""
        yield f'<MiningModel functionName="{self.function}">'
        yield from self._schema(self.used, given=True)
        yield "<Output>"
        for k, (name, output) in enumerate(zip(self.names.predictions, self.model.outputs, strict=True)):
            yield _value_field(name, output, f' segmentId="{k}"')[1]
            yield from _share_fields(output, self.names.shares[k], k)
        yield "</Output>"
        yield ' <Segmentation multipleModelMethod="modelChain">'
        for k in range(len(self.model.outputs)):
            yield f'<Segment id="{k}">'
            yield "<True/>"
            yield from self._model(k, None)
            yield "</Segment>"
        yield " </Segmentation>"
        yield "</MiningModel>"

    def _model(self, k: int, target: str | None) -> Lines:
        """Write what predicts one output; `target` is its name, None if it is one answer of several."""
        model, output = self.model, self.model.outputs[k]
        members, answers = self._members(output), self._answers(k)
        if target is None:
            answers = iter(_value_field(self.names.unlike(f"answer {k}"), output))
        given = target is not None
        is_sum = model.trees[0].values.shape[1] == 1
        if model.link in ("logistic", "exp") or (model.link == "softmax" and is_sum):
            yield from self._linked_sums(k)
        elif model.link == "softmax":
            yield from self._softmax_of_votes(k)
        elif output.labels is not None and len(output.labels) == 1:  # which readers have no votes for
            yield from self._tree(_constant(1.0), output, target, answers, given=given)
        elif len(members) == 1 and not any(model.start):
            yield from self._tree(members[0][0], output, target, answers, given=given)
        elif model.median_weights is not None:
            weighted = zip([tree for tree, _ in members], model.median_weights, strict=True)
            voting = [(tree, weight) for tree, weight in weighted if weight > 0]
            yield from self._mining("weightedMedian", voting, output, target, answers, given=given)
        elif model.has_classes:
            method = "average" if {weight for _, weight in members} == {1.0} else "weightedAverage"
            yield from self._mining(method, members, output, target, answers, given=given)
        else:
            if any(model.start):
                members.insert(0, (_constant(model.start[0]), 1.0))
            method = "sum" if model.divisor == 1.0 else "average"
            yield from self._mining(method, members, output, target, answers, given=given)

    def _members(self, output: Output) -> list[tuple[PortableTree, float]]:
        """List the trees that speak to an output, with their weights; a tree of weight 0 says nothing."""
        found = []
        for tree in self.model.trees:
            begin, end = output.begin - tree.first_score, output.end - tree.first_score
            if begin < 0 or end > tree.values.shape[1]:
                continue
            own = _part_of(tree, begin, end)
            weight = 1.0 if output.labels is None else float(own.values.sum(axis=1).max())
            if weight > 0 or output.labels is None:
                found.append((own, weight))
        return found

    def _mining(
        self,
        method: str,
        members: Sequence[tuple[PortableTree, float]],
        output: Output,
        target: str | None,
        answers: Lines,
        *,
        given: bool,
    ) -> Lines:
        of_classes = output.labels is not None
        yield f'<MiningModel functionName="{"classification" if of_classes else "regression"}">'
        yield from self._schema(self.used, target, given=given)
        yield from answers
        yield f' <Segmentation multipleModelMethod="{method}">'
        for number, (tree, weight) in enumerate(members, start=1):
            own_weight = f' weight="{weight!r}"' if method.startswith("weighted") else ""
            yield f'<Segment id="{number}"{own_weight}>'
            yield "<True/>"
            yield from self._tree(tree, output, None, iter(()), given=False)
            yield "</Segment>"
        yield " </Segmentation>"
        yield "</MiningModel>"

    # --- Scores that become something else ---------------------------------------------------------------

    def _linked_sums(self, k: int) -> Lines:
        """Sum up each score, and have a RegressionModel make of them what the loss means."""
        model = self.model
        names = [self.names.unlike(f"score {score}") for score in range(model.n_scores)]
        parts = []
        for score, name in enumerate(names):
            members = [(_part_of(tree, 0, 1), 1.0) for tree in model.trees if tree.first_score == score]
            if model.start[score] or not members:
                members.insert(0, (_constant(model.start[score]), 1.0))
            number = Output(0, 1, None)
            answers = iter(_value_field(name, number))
            parts.append(self._mining("sum", members, number, None, answers, given=False))
        yield from self._chain(k, parts, names, [model.scale] * len(names))

    def _softmax_of_votes(self, k: int) -> Lines:
        """Have trees vote, and make of the votes' sums what their odds mean."""
        model, output = self.model, self.model.outputs[k]
        members = self._members(output)
        total = math.fsum(weight for _, weight in members)
        names = [self.names.unlike(f"votes {j}") for j in range(output.end - output.begin)]
        answers = ["<Output>", *_share_fields(output, names), "</Output>"]
        votes = self._mining("weightedAverage", members, output, None, iter(answers), given=False)
        yield from self._chain(k, [votes], names, [model.scale * total] * len(names))

    def _chain(
        self, k: int, parts: Sequence[Lines], scores: Sequence[str], factors: Sequence[float]
    ) -> Lines:
        target, output = self.names.predictions[k], self.model.outputs[k]
        yield f'<MiningModel functionName="{self.function}">'
        yield from self._schema(self.used, target, given=True)
        yield ' <Segmentation multipleModelMethod="modelChain">'
        for number, part in enumerate(parts, start=1):
            yield f'<Segment id="{number}">'
            yield "<True/>"
            yield from part
            yield "</Segment>"
        yield f'<Segment id="{len(parts) + 1}">'
        yield "<True/>"
        method = {"exp": "exp", "logistic": "logit", "softmax": "softmax"}[self.model.link]
        yield f'<RegressionModel functionName="{self.function}" normalizationMethod="{method}">'
        yield "<MiningSchema>"
        yield f' <MiningField name={attribute(target)} usageType="target"/>'
        yield from (f" <MiningField name={attribute(name)}/>" for name in scores)
        yield "</MiningSchema>"
        yield from self._answers(k)
        labels: Sequence[Any] = output.labels or (None,)
        if self.model.link == "logistic":  # the score is that of the second; the first has the rest
            labels = labels[::-1]
        for j, label in enumerate(labels):
            category = "" if label is None else f" targetCategory={attribute(_label_text(label))}"
            if j >= len(scores):
                yield f'<RegressionTable intercept="0.0"{category}/>'
                continue
            yield f'<RegressionTable intercept="0.0"{category}>'
            yield f' <NumericPredictor name={attribute(scores[j])} coefficient="{factors[j]!r}"/>'
            yield "</RegressionTable>"
        yield "</RegressionModel>"
        yield "</Segment>"
        yield " </Segmentation>"
        yield "</MiningModel>"

    # --- Trees -------------------------------------------------------------------------------------------

    def _tree(
        self, tree: PortableTree, output: Output, target: str | None, answers: Lines, *, given: bool
    ) -> Lines:
        function = "regression" if output.labels is None else "classification"
        yield (
            f'<TreeModel functionName="{function}" missingValueStrategy="defaultChild" '
            'splitCharacteristic="multiSplit">'
        )
        columns = self.used if given or self._roots_left else _columns_of(tree)
        yield from self._schema(columns, target, given=given)
        yield from answers
        yield from self._nodes(tree, output)
        yield "</TreeModel>"

    def _nodes(self, tree: PortableTree, output: Output) -> Lines:
        """Write the nodes, a parent before its children; without recursion, as trees may be deep."""
        todo: list[tuple[int, int, str]] = [(0, 0, self._roots_left.pop() if self._roots_left else "<True/>")]
        while todo:
            node, depth, predicate = todo.pop()
            indent = " " * min(depth, _MOST_INDENT)
            if node < 0:
                yield f"{indent}</Node>"
                continue
            if not tree.n_branches[node]:
                yield from self._leaf(tree, node, output, indent, predicate)
                continue
            branches = self.tests.of_branches(tree, node)
            to = tree.first_child[node] + tree.missing_branch[node]
            yield f'{indent}<Node id="{node}" defaultChild="{to}">{predicate}'
            todo.append((-1, depth, ""))
            first = tree.first_child[node]
            todo.extend((first + branch, depth + 1, said) for branch, said in reversed(branches))

    @staticmethod
    def _leaf(tree: PortableTree, node: int, output: Output, indent: str, predicate: str) -> Lines:
        values = tree.values[node].tolist()
        if output.labels is None:
            yield f'{indent}<Node id="{node}" score="{values[0]!r}">{predicate}</Node>'
            return
        best = _label_text(output.labels[int(np.argmax(values))])
        yield f'{indent}<Node id="{node}" score={attribute(best)}>{predicate}'
        for label, value in zip(output.labels, values, strict=True):
            yield (
                f'{indent} <ScoreDistribution value={attribute(_label_text(label))} recordCount="{value!r}"/>'
            )
        yield f"{indent}</Node>"


def _share_fields(output: Output, names: Sequence[str], segment: int | None = None) -> Lines:
    of = "" if segment is None else f' segmentId="{segment}"'
    for label, name in zip(output.labels or (), names, strict=True):
        yield (
            f' <OutputField name={attribute(name)} optype="continuous" dataType="double" '
            f'feature="probability" value={attribute(_label_text(label))}{of}/>'
        )


def _label_type(output: Output) -> str:
    if output.labels is None:
        return "double"
    return {bool: "boolean", int: "integer", float: "double"}.get(type(output.labels[0]), "string")


def _value_field(name: str, output: Output, of: str = "") -> list[str]:
    kind = "continuous" if output.labels is None else "categorical"
    field = f'name={attribute(name)} optype="{kind}" dataType="{_label_type(output)}"'
    return ["<Output>", f' <OutputField {field} feature="predictedValue"{of}/>', "</Output>"]


def _field_name(column: InputColumn) -> str:
    """Name what is made of a date; the name of its column is that of the date itself."""
    return f"{column.name} in days" if column.part in ("date", "time") else column.name


def _columns_of(tree: PortableTree) -> list[int]:
    found = {tree.column[node] for node in tree.inner_nodes()}
    found |= {one.column for several in tree.stand_ins.values() for one in several}
    return sorted(found)


def _part_of(tree: PortableTree, begin: int, end: int) -> PortableTree:
    """Keep some of the values of a tree."""
    if (begin, end) == (0, tree.values.shape[1]):
        return tree
    return replace(tree, values=tree.values[:, begin:end], first_score=0)


def _constant(value: float) -> PortableTree:
    """Make a tree that says the same of every row."""
    return PortableTree([-1], [0], [-1], [0.0], [0], {}, {}, {}, np.array([[value]]), 0)


# ------------------------------------------------------------------------------------------------------------
# What PMML cannot hold


def _check_categories(column: InputColumn) -> None:
    for category in column.categories or ():
        if isinstance(category, str) and not is_xml(category):
            raise ExportError(
                f"Column {shown(column.name)} has the category {shown(category)}, which holds a character "
                "that XML cannot hold. Rename the category."
            )
        if isinstance(category, int) and abs(category) > 2**53:
            raise ExportError(
                f"Column {shown(column.name)} has the category {category}, a whole number that PMML cannot "
                "hold exactly. Make the categories texts."
            )


def notes_on(model: PortableModel) -> list[str]:
    """Say what readers of a document have to know."""
    deepest = max(depth_of(tree) for tree in model.trees)
    if deepest <= _DEPTH_OF_JAVA:
        return []
    return [
        f"The deepest tree has {deepest} levels. Java 24 and later read such a document with "
        "-Djdk.xml.maxElementDepth=0 only."
    ]


def depth_of(tree: PortableTree) -> int:
    """Count the tests on the longest way to a leaf."""
    depths = [0] * tree.n_nodes
    for node in range(1, tree.n_nodes):  # children have larger numbers than their parent
        depths[node] = depths[tree.parents[node]] + 1
    return max(depths)


def _check_labels(output: Output) -> None:
    for label in output.labels or ():
        if isinstance(label, int) and abs(label) > _LARGEST_INTEGER:
            raise ExportError(
                f"The class {label} is beyond the whole numbers that readers of PMML take. Make the "
                "classes texts."
            )
