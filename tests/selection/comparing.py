"""A comparison that takes little time."""

import hornbeam as hb


def quick(X, y, **options):
    return hb.compare(
        X, y, **{"random_state": 0, "methods": ["tree"], "search": False, "n_bootstrap": 20, **options}
    )
