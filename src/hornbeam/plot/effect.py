"""The effect of one column: what the model says as it changes, on average and for single rows."""

from typing import Any

import numpy as np

from hornbeam.data.wording import shown
from hornbeam.inside.effects import Effect
from hornbeam.inside.words import printable
from hornbeam.plot.canvas import BLUE, GREY, ORANGE, axes_for, label

__all__ = ["effect"]


def effect(found: Effect, *, output: Any = None, most_lines: int = 40, ax: Any = None) -> Any:
    """Draw how the score depends on a column (`model.effect(X, column)`); return the axes.

    The thick line is the mean over the rows, the thin ones are single rows, at most `most_lines` of them; an
    orange line is the score without a value. `output` is the class or output, where there are several.
    """
    if not isinstance(found, Effect):
        raise TypeError(f"found must come from model.effect(X, column); got {type(found).__name__}.")
    lines, missing = found.lines, found.missing
    if lines.ndim > 2:
        if output not in found.outputs:
            known = ", ".join(map(repr, found.outputs[:10]))
            raise ValueError(f"Choose one of the outputs: output={known}; got {shown(output)}.")
        place = found.outputs.index(output)
        lines, missing = lines[..., place], None if missing is None else missing[place]
    ax = axes_for(ax, size=(5.5, 3.6), purpose="Drawing an effect")
    some = lines[np.linspace(0, len(lines) - 1, min(most_lines, len(lines))).astype(np.int64)]
    mean = lines.mean(axis=0)
    if found.is_number:
        ends = found.values[:-1].astype(np.float64)
        span = float(np.ptp(ends)) if len(ends) > 1 else 1.0
        places = np.r_[ends, (ends[-1] if len(ends) else 0.0) + 0.05 * span]
        before = (places[0] if len(places) else 0.0) - 0.05 * span
        for line in some:
            ax.stairs(line, np.r_[before, places], color=GREY, alpha=0.35, linewidth=0.7, baseline=None)
        ax.stairs(mean, np.r_[before, places], color=BLUE, linewidth=2.2, baseline=None)
    else:
        for line in some:
            ax.plot(range(len(line)), line, color=GREY, alpha=0.35, linewidth=0.7)
        ax.plot(range(len(mean)), mean, "o", color=BLUE)
        ax.set_xticks(range(len(mean)), [label(printable(value)) for value in found.values])
    if missing is not None:
        ax.axhline(float(missing), color=ORANGE, linestyle="--", linewidth=1, label="without a value")
        ax.legend(frameon=False, fontsize="small")
    ax.set_xlabel(label(found.column))
    ax.set_ylabel("score")
    return ax
