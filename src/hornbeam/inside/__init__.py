"""Looking inside a tree: as rules, as a table, along the path of one row.

Everything starts from a `TreeReading`, which is one tree with its names; see `nodes.py`. The estimators
call these functions from `rules`, `to_frame` and `explain`.
"""

from hornbeam.inside.conditions import Condition
from hornbeam.inside.explain import Explanation, Step, explain_row, read_row
from hornbeam.inside.formula import formulas, holds
from hornbeam.inside.frame import tree_frame
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.rules import Rule, RuleStyle, rule_lines, rule_list, rule_text, write_rules
from hornbeam.inside.words import printable

__all__ = [
    "Condition",
    "Explanation",
    "Rule",
    "RuleStyle",
    "Step",
    "TreeReading",
    "explain_row",
    "formulas",
    "holds",
    "printable",
    "read_row",
    "rule_lines",
    "rule_list",
    "rule_text",
    "tree_frame",
    "write_rules",
]
