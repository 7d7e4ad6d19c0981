"""A model as an ONNX graph, for onnxruntime and what understands ONNX.

    inputs     one table X where all columns are numbers, else one input per column: numbers or texts
    features   numbers as they are; categories are looked up: of each test on categories, the branch
    trees      TreeEnsemble of ai.onnx.ml 5, or the older TreeEnsembleRegressor: scores
    answers    plain operators: division, exp, sigmoid, softmax, the largest score

Missing numbers are NaN, missing texts are the text that the description of the input names. Where a category
goes, missing or unseen ones too, is in the looked-up tables, so that the trees compare nothing but numbers:
tests on sets are where runtimes go wrong.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam._core import version
from hornbeam._optional import require
from hornbeam.data.wording import shown
from hornbeam.errors import ExportError
from hornbeam.exports.c_code import Precision, check_single
from hornbeam.exports.columns import InputColumn, refuse_dates
from hornbeam.exports.onnx_trees import classic_trees, modern_trees
from hornbeam.exports.portable import Output, PortableModel, PortableTree

__all__ = ["Operator", "missing_text", "onnx_of"]

Operator = Literal["TreeEnsemble", "TreeEnsembleRegressor"]

# Operator -> version of the format, of the common operators and of those of ai.onnx.ml.
_VERSIONS = {"TreeEnsemble": (10, 21, 5), "TreeEnsembleRegressor": (8, 17, 3)}


def missing_text(column: InputColumn) -> str:
    """Choose the text that stands for a missing one: the empty one, if that is no category."""
    text = ""
    while text in (column.categories or ()):
        text = f"<missing{'!' * len(text)}>"
    return text


def onnx_of(model: PortableModel, *, operator: Operator, precision: Precision) -> Any:
    """Write a model as an ONNX model, an object of the onnx package."""
    if model.has_stand_ins:
        raise ExportError(
            "missing='surrogate' tests other columns where a value is missing, which ONNX cannot express. "
            "Fit the model with missing='learn', or export it to SQL, C or Python."
        )
    refuse_dates(model.columns, "ONNX")
    return _Graph(model, operator, precision).build()


class _Graph:
    """Collects nodes and constants; names of our own begin with a slash, which no input has."""

    def __init__(self, model: PortableModel, operator: Operator, precision: Precision) -> None:
        self.model = model
        self.operator = operator
        self.onnx = require("onnx", purpose="Exporting to ONNX")
        self.dtype: type = np.float32 if precision == "float" else np.float64
        self.kind = self.onnx.TensorProto.FLOAT if precision == "float" else self.onnx.TensorProto.DOUBLE
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.n_names = 0
        self.all_numbers = all(column.categories is None for column in model.columns)
        if precision == "float" or operator == "TreeEnsembleRegressor":  # which answers in single precision
            for values in (np.array(model.start), *(tree.values for tree in model.trees)):
                check_single(float(np.abs(values).max()))

    # --- Parts -------------------------------------------------------------------------------------------

    def name(self, what: str) -> str:
        self.n_names += 1
        return f"/{what}/{self.n_names}"

    def add(
        self, operator: str, inputs: Sequence[str], output: str = "", domain: str = "", **more: Any
    ) -> str:
        output = output or self.name(operator)
        node = self.onnx.helper.make_node(operator, list(inputs), [output], domain=domain, **more)
        self.nodes.append(node)
        return output

    def constant(self, value: Any, dtype: Any = None) -> str:
        name = self.name("constant")
        array = np.array(value, dtype=dtype if dtype is not None else self.dtype)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    # --- Inputs and features -----------------------------------------------------------------------------

    def _inputs(self) -> list[Any]:
        info, proto = self.onnx.helper.make_tensor_value_info, self.onnx.TensorProto
        if self.all_numbers:
            return [info("X", self.kind, ["rows", len(self.model.columns)])]
        inputs = []
        for column in self.model.columns:
            if not column.name or column.name.startswith("/") or "\0" in column.name:
                raise ExportError(f"ONNX has no input called {shown(column.name)}. Rename the column.")
            is_text = column.categories is not None and column.category_type is str
            inputs.append(info(column.name, proto.STRING if is_text else self.kind, ["rows", 1]))
        names = [one.name for one in inputs]
        if set(names) & set(self._output_names()):
            taken = sorted(set(names) & set(self._output_names()))[0]
            raise ExportError(f"The column {shown(taken)} has the name of an output. Rename the column.")
        return inputs

    def _output_names(self) -> list[str]:
        several = len(self.model.outputs) > 1
        ends = [f"_{k}" if several else "" for k in range(len(self.model.outputs))]
        if not self.model.has_classes:
            return ["prediction"]
        return [f"{what}{end}" for end in ends for what in ("label", "probabilities")]

    def _features(self) -> tuple[str, Any]:
        """Put the features side by side; return their name, and how to find that of a test."""
        self.places: dict[int, str] = {}
        if self.all_numbers:
            return "X", lambda tree, node: tree.column[node]
        parts, numbers, tests = [], {}, {}
        width = 0
        for j in self.model.columns_tested or (0,):
            column = self.model.columns[j]
            if column.categories is None:
                parts.append(column.name)
                numbers[j] = width
                width += 1
                continue
            table, found = self._table(j)
            parts.append(self.add("Gather", [self.constant(table), self._place(j)]))
            tests.update({key: width + place for key, place in found.items()})
            numbers[j] = width
            width += table.shape[1]
        features = self.add("Concat", parts, axis=1) if len(parts) > 1 else parts[0]

        def feature_of(tree: PortableTree, node: int) -> int:
            place: int = tests.get((id(tree), node), numbers[tree.column[node]])
            return place

        return features, feature_of

    def _table(self, j: int) -> tuple[npt.NDArray[Any], dict[tuple[int, int], int]]:
        """Make the table of a column: what each test sees of each category, an unseen and a missing one."""
        column = self.model.columns[j]
        n = len(column.categories or ())
        rows: dict[tuple[float, ...], int] = {}
        found = {}
        if column.kind == "ordinal":  # thresholds on positions; the first column of the table
            rows[(*map(float, range(n)), np.nan, np.nan)] = 0
        for tree in self.model.trees:
            for node in tree.branch_of:
                if tree.column[node] == j:
                    branches = [float(tree.branch_of_category(node, k)) for k in range(n)]
                    row = (*branches, float(tree.unseen(node)), float(tree.missing_branch[node]))
                    found[id(tree), node] = rows.setdefault(row, len(rows))
        if not rows:
            rows[(0.0,) * (n + 2)] = 0
        return np.array(list(rows)).T.astype(self.dtype), found

    def _place(self, j: int) -> str:
        """Find the position of each row's category: behind the known ones, an unseen and a missing one."""
        if j in self.places:
            return self.places[j]
        column = self.model.columns[j]
        categories: list[Any] = list(column.categories or ())
        n = len(categories)
        flat = self.add("Reshape", [column.name, self.constant([-1], np.int64)])
        if column.category_type is str:
            place = self.add(
                "LabelEncoder",
                [flat],
                domain="ai.onnx.ml",
                keys_strings=[*categories, missing_text(column)],
                values_int64s=[*range(n), n + 1],
                default_int64=n,
            )
        else:
            keys: Any = np.array([float(value) for value in categories], dtype=self.dtype)
            if len(set(keys.tolist())) < n or any(abs(value) > 2**53 for value in categories):
                raise ExportError(
                    f"Column {shown(column.name)} has categories that are the same number in ONNX. Rename "
                    "them, for example to texts."
                )
            column_of = self.add("Reshape", [column.name, self.constant([-1, 1], np.int64)])
            same = self.add("Equal", [column_of, self.constant(keys.reshape(1, n))])
            flags = self.add("Cast", [same], to=self.onnx.TensorProto.FLOAT)
            known = self.add("Cast", [self._largest(flags)], to=self.onnx.TensorProto.BOOL)
            where = self.add("ArgMax", [flags], axis=1, keepdims=0)
            seen = self.add("Where", [known, where, self.constant([n], np.int64)])
            place = self.add("Where", [self.add("IsNaN", [flat]), self.constant([n + 1], np.int64), seen])
        self.places[j] = place
        return place

    def _largest(self, flags: str) -> str:
        """Return the largest number of each row; where to look became an input in version 18."""
        if self.operator == "TreeEnsemble":
            return self.add("ReduceMax", [flags, self.constant([1], np.int64)], keepdims=0)
        return self.add("ReduceMax", [flags], axes=[1], keepdims=0)

    # --- Trees and answers -------------------------------------------------------------------------------

    def build(self) -> Any:
        inputs = self._inputs()
        features, feature_of = self._features()
        scores = self._scores(self._trees(features, feature_of))
        refused = self._refused()
        outputs = self._number_outputs(scores, refused)
        for k, output in enumerate(self.model.outputs if self.model.has_classes else ()):
            outputs += self._class_outputs(k, output, scores, refused)
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, self.model.estimator, inputs, outputs, self.constants)
        ir, common, trees = _VERSIONS[self.operator]
        opsets = [helper.make_opsetid("", common), helper.make_opsetid("ai.onnx.ml", trees)]
        proto = helper.make_model(
            graph, opset_imports=opsets, producer_name="hornbeam", producer_version=version, ir_version=ir
        )
        self.onnx.checker.check_model(proto)
        return proto

    def _trees(self, features: str, feature_of: Any) -> str:
        n_targets = len(self.model.trees) if self.model.median_weights else self.model.n_scores
        if self.operator == "TreeEnsemble":
            attributes: dict[str, Any] = modern_trees(self.model, feature_of, self.dtype)
            for name in ("nodes_splits", "leaf_weights", "nodes_modes"):
                attributes[name] = self.onnx.numpy_helper.from_array(attributes[name], name)
        else:
            attributes = classic_trees(self.model, feature_of, self.dtype)
            for name in ("nodes_values", "target_weights"):
                array: Any = attributes.pop(name)
                if self.dtype is np.float32:
                    attributes[name] = array.tolist()
                else:
                    attributes[f"{name}_as_tensor"] = self.onnx.numpy_helper.from_array(array, name)
        scores = self.add(self.operator, [features], domain="ai.onnx.ml", n_targets=n_targets, **attributes)
        if self.operator == "TreeEnsembleRegressor" and self.dtype is np.float64:
            return self.add(
                "Cast", [scores], to=self.kind
            )  # it answers in single precision whatever it is given
        return scores

    def _scores(self, scores: str) -> str:
        model = self.model
        if model.median_weights is not None:
            return self._median(scores)
        if any(model.start):
            scores = self.add("Add", [scores, self.constant([model.start])])
        return scores if model.divisor == 1.0 else self.add("Div", [scores, self.constant(model.divisor)])

    def _median(self, said: str) -> str:
        """Sort what the trees say; take the first that half of the weight is up to."""
        n = len(self.model.trees)
        values, order = self.name("sorted"), self.name("order")
        self.nodes.append(
            self.onnx.helper.make_node(
                "TopK", [said, self.constant([n], np.int64)], [values, order], axis=1, largest=0, sorted=1
            )
        )
        weights = self.add("Gather", [self.constant(self.model.median_weights), order])
        below = self.add("CumSum", [weights, self.constant(1, np.int64)])
        last = self.add("Gather", [below, self.constant([n - 1], np.int64)], axis=1)
        half = self.add("Mul", [last, self.constant(0.5)])
        flags = self.add("Cast", [self.add("Less", [below, half])], to=self.onnx.TensorProto.FLOAT)
        first = self.add("ArgMin", [flags], axis=1, keepdims=1)
        return self.add("GatherElements", [values, first], axis=1)

    def _number_outputs(self, scores: str, refused: str | None) -> list[Any]:
        if self.model.has_classes:
            return []
        numbers = self.add("Exp", [scores]) if self.model.link == "exp" else scores
        self._answer(numbers, refused, "prediction")
        info = self.onnx.helper.make_tensor_value_info
        return [info("prediction", self.kind, ["rows", len(self.model.outputs)])]

    def _answer(self, numbers: str, refused: str | None, name: str) -> None:
        if refused is None:
            self.add("Identity", [numbers], name)
        else:
            self.add("Where", [refused, self.constant(np.nan), numbers], name)

    def _class_outputs(self, k: int, output: Output, scores: str, refused: str | None) -> list[Any]:
        labels = output.labels or ()
        places = self.constant(list(range(output.begin, output.end)), np.int64)
        own = self.add("Gather", [scores, places], axis=1)
        if self.model.link == "logistic":
            scaled = (
                own if self.model.scale == 1.0 else self.add("Mul", [own, self.constant(self.model.scale)])
            )
            second = self.add("Sigmoid", [scaled])
            shares = self.add("Concat", [self.add("Sub", [self.constant(1.0), second]), second], axis=1)
            is_second = self.add(
                "Greater", [self.add("Reshape", [own, self.constant([-1], np.int64)]), self.constant(0.0)]
            )
            best = self.add("Cast", [is_second], to=self.onnx.TensorProto.INT64)
        else:
            shares = own
            if self.model.link == "softmax":
                scaled = (
                    own
                    if self.model.scale == 1.0
                    else self.add("Mul", [own, self.constant(self.model.scale)])
                )
                shares = self.add("Softmax", [scaled], axis=1)
            best = self.add("ArgMax", [own], axis=1, keepdims=0)
        label_name, share_name = self._output_names()[2 * k : 2 * k + 2]
        table, kind = self._label_table(labels)
        self.add("Gather", [table, best], label_name)
        self._answer(shares, refused, share_name)
        info = self.onnx.helper.make_tensor_value_info
        return [info(label_name, kind, ["rows"]), info(share_name, self.kind, ["rows", len(labels)])]

    def _label_table(self, labels: Sequence[Any]) -> tuple[str, int]:
        proto = self.onnx.TensorProto
        if isinstance(labels[0], str):
            name = self.name("labels")
            texts = [label.encode("utf-8") for label in labels]
            self.constants.append(self.onnx.helper.make_tensor(name, proto.STRING, [len(labels)], texts))
            return name, proto.STRING
        if isinstance(labels[0], bool):
            return self.constant(labels, np.bool_), proto.BOOL
        if isinstance(labels[0], int):
            return self.constant(labels, np.int64), proto.INT64
        return self.constant(labels, np.float64), proto.DOUBLE

    def _refused(self) -> str | None:
        """Mark the rows that the model refuses, rows x 1; None if it takes every row."""
        model, flags = self.model, []
        if not (model.refuses_missing or model.refuses_unseen):
            return None
        shape = self.constant([-1, 1], np.int64)
        for j, column in enumerate(model.columns):
            if column.categories is not None:
                n = len(column.categories)
                for wanted, place in ((model.refuses_missing, n + 1), (model.refuses_unseen, n)):
                    if wanted:
                        same = self.add("Equal", [self._place(j), self.constant([place], np.int64)])
                        flags.append(self.add("Reshape", [same, shape]))
            elif model.refuses_missing and not self.all_numbers:
                flags.append(self.add("IsNaN", [column.name]))
        if self.all_numbers and model.refuses_missing:
            lacking = self.add("Cast", [self.add("IsNaN", ["X"])], to=self.onnx.TensorProto.FLOAT)
            most = self._largest(lacking)
            flags.append(
                self.add("Cast", [self.add("Reshape", [most, shape])], to=self.onnx.TensorProto.BOOL)
            )
        if not flags:
            return None
        mask = flags[0]
        for flag in flags[1:]:
            mask = self.add("Or", [mask, flag])
        return mask
