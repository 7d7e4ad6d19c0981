"""Print what pyproject.toml says hornbeam needs, one requirement per line.

In: names of extras, such as `dev docs`. Out, on standard output: the build requirements, the runtime
dependencies and the requirements of those extras. The Makefile hands the list to pip, so that tools and
dependencies can be installed while the C++ core does not compile, and no requirement is written twice.

With `--lowest` first, the runtime dependencies and the requirements of the extras are pinned to the lowest
version that pyproject.toml admits: `numpy>=1.26` becomes `numpy~=1.26.0`, the newest of the 1.26 series.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def expand(requirements: list[str], extras: dict[str, list[str]], package: str) -> list[str]:
    """Replace `package[extra, ...]` by what those extras ask for; the package itself is left out."""
    own = re.compile(rf"{re.escape(package)}\[([^\]]+)\]")
    expanded: list[str] = []
    for requirement in requirements:
        if match := own.fullmatch(requirement):
            for extra in match[1].split(","):
                expanded += expand(extras[extra.strip()], extras, package)
        else:
            expanded.append(requirement)
    return expanded


def pin_lowest(requirement: str) -> str:
    """Hold a requirement to the series of its lower bound, in which its errors have been mended."""
    match = re.fullmatch(r"([A-Za-z0-9-]+)>=([0-9.]+)(,.*)?", requirement)
    if match is None:
        return requirement
    name, bound = match[1], match[2]
    if "." not in bound:  # a whole major version: its first series
        return f"{name}~={bound}.0.0"
    return f"{name}~={bound if bound.count('.') > 1 else bound + '.0'}"


def main(wanted: list[str]) -> None:
    """Print the requirements for building, running and the wanted extras."""
    lowest = wanted[:1] == ["--lowest"]
    wanted = wanted[lowest:]
    pyproject = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    project = pyproject["project"]
    extras = project["optional-dependencies"]
    if unknown := sorted(set(wanted) - set(extras)):
        sys.exit(f"pyproject.toml has no extra {', '.join(unknown)}; it has {', '.join(sorted(extras))}.")
    own_extras = [f"{project['name']}[{extra}]" for extra in wanted]
    used = project["dependencies"] + expand(own_extras, extras, project["name"])
    if lowest:
        used = [pin_lowest(requirement) for requirement in used]
    print("\n".join(pyproject["build-system"]["requires"] + used))


if __name__ == "__main__":
    main(sys.argv[1:])
