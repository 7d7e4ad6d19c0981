"""Draws quality.png: the loss of ours beside CatBoost's, table by table, from what RESULTS.md says.

python -m benchmarks.quality.picture
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.report import OUR_COLOUR, PEER_COLOUR

__all__ = ["draw", "losses_of"]

FOLDER = Path(__file__).resolve().parents[1]
PEER = "CatBoost"
DRAWN = {"hornbeam boosting": OUR_COLOUR, "LightGBM": PEER_COLOUR}
TINY = 1e-4  # added to both losses, as in the verdict
WIDEST = 4.0  # ratios beyond this or its inverse are drawn there

Losses = dict[str, dict[str, float]]


def losses_of(text: str, job: str = "quality") -> Losses:
    """The mean loss of each contestant on each table, as a section of RESULTS.md has them."""
    section = text.partition(f"<!-- job: {job} -->")[2].partition(f"<!-- end: {job} -->")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    heads = [number for number, cells in enumerate(lines) if cells[0] == "table"]
    if not heads:
        return {}
    names = lines[heads[0]][2:]
    found: Losses = {}
    for table, _rows, *losses in lines[heads[0] + 2 :]:
        found[table] = {name: float(loss) for name, loss in zip(names, losses, strict=True) if loss != "-"}
    return found


def draw(results: Path, out: Path) -> None:
    """Draw a line per table, a dot per contestant: left of 1 is better than CatBoost."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ratios = _ratios(losses_of(results.read_text(encoding="utf-8")))
    first = next(iter(DRAWN))
    tables = sorted(ratios, key=lambda table: -ratios[table].get(first, 1.0))
    figure, axes = plt.subplots(figsize=(8, 0.19 * len(tables) + 1.3), layout="constrained")
    for name, colour in DRAWN.items():
        places = [place for place, table in enumerate(tables) if name in ratios[table]]
        shown = [min(max(ratios[tables[place]][name], 1 / WIDEST), WIDEST) for place in places]
        axes.scatter(shown, places, s=22, color=colour, label=name, zorder=3)
    axes.axvline(1.0, color="0.3", linewidth=1, label=PEER)
    axes.set_xscale("log")
    ticks = [0.25, 0.5, 0.75, 1, 1.5, 2, 4]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(tables)), tables, fontsize=7)
    axes.set_ylim(-1, len(tables))
    axes.grid(axis="x", color="0.9")
    axes.grid(axis="y", color="0.95")
    axes.set_axisbelow(True)
    axes.set_xlabel(f"loss / {PEER}'s, with no settings (left is better; beyond {WIDEST:g} at the edge)")
    axes.legend(loc="upper right", fontsize=8)
    figure.savefig(out, dpi=110)
    plt.close(figure)


def _ratios(losses: Losses) -> Losses:
    return {
        table: {name: (loss + TINY) / (of_all[PEER] + TINY) for name, loss in of_all.items() if name != PEER}
        for table, of_all in losses.items()
        if PEER in of_all
    }


if __name__ == "__main__":
    draw(FOLDER / "RESULTS.md", FOLDER / "quality.png")
