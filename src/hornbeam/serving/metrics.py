"""What the server has done so far, in the text format of Prometheus."""

import threading
from collections import Counter

__all__ = ["Metrics"]

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counts requests by path and status, rows, and how long answers took."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets = [0] * (len(_BUCKETS) + 1)
        self._seconds = 0.0
        self._rows = 0

    def add(self, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._requests[path, status] += 1
            if path == "/predict":
                place = next((k for k, bound in enumerate(_BUCKETS) if seconds <= bound), len(_BUCKETS))
                self._buckets[place] += 1
                self._seconds += seconds

    def add_rows(self, count: int) -> None:
        """Count rows that were predicted."""
        with self._lock:
            self._rows += count

    def text(self) -> str:
        """Write everything."""
        with self._lock:
            requests, buckets = dict(self._requests), list(self._buckets)
            seconds, rows = self._seconds, self._rows
        lines = [
            "# HELP hornbeam_requests_total Requests that were answered.",
            "# TYPE hornbeam_requests_total counter",
        ]
        for (path, status), number in sorted(requests.items()):
            lines.append(f'hornbeam_requests_total{{path="{path}",status="{status}"}} {number}')
        lines += [
            "# HELP hornbeam_rows_total Rows that were predicted.",
            "# TYPE hornbeam_rows_total counter",
            f"hornbeam_rows_total {rows}",
            "# HELP hornbeam_predict_seconds How long requests to predict took.",
            "# TYPE hornbeam_predict_seconds histogram",
        ]
        total = 0
        for bound, number in zip([*map(str, _BUCKETS), "+Inf"], buckets, strict=True):
            total += number
            lines.append(f'hornbeam_predict_seconds_bucket{{le="{bound}"}} {total}')
        lines += [
            f"hornbeam_predict_seconds_sum {seconds:.6f}",
            f"hornbeam_predict_seconds_count {total}",
            "",
        ]
        return "\n".join(lines)
