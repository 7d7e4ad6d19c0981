"""Fifty clients at once: how many answers a server gives, how quickly, and whether one is lost or wrong.

`python tests/serving_load.py --seconds 60` runs the load test for a minute and prints its figures; the tests
run it for a second.
"""

import argparse
import http.client
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import hornbeam as hb


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Served:
    """A server of a model file, in a process of its own."""

    def __init__(self, path, *flags):
        self.port = free_port()
        command = [sys.executable, "-m", "hornbeam", "serve", str(path), "--port", str(self.port), *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE)
        for _ in range(600):
            try:
                if self.ask("GET", "/health")[0] == 200:
                    return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError(self.process.stderr.read().decode()) from None
                time.sleep(0.05)
        raise TimeoutError("the server does not answer")

    def ask(self, method, path, body=None, **headers):
        """Return status, headers and body of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        found = response.status, dict(response.getheaders()), response.read()
        connection.close()
        return found

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=20)
        self.process.stderr.close()


def load(port, rows, expected, *, seconds, n_clients=50):
    """Have clients ask for one row after the other; return how long answers took, and what went wrong."""
    times, faults, end = [], [], time.monotonic() + seconds

    def client(number):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        own, at = [], number
        while time.monotonic() < end:
            at = (at + 1) % len(rows)
            begin = time.perf_counter()
            try:
                connection.request("POST", "/predict", rows[at], {"Content-Type": "application/json"})
                response = connection.getresponse()
                body = response.read()
            except OSError as error:
                faults.append(repr(error))
                connection.close()
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                continue
            own.append(time.perf_counter() - begin)
            if response.status != 200 or json.loads(body)["prediction"] != expected[at]:
                faults.append((response.status, body[:200]))
        connection.close()
        times.extend(own)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(n_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return np.array(times), faults


def example():
    """Return a model of moderate size, rows as JSON, and what it says of them."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(2000, 10))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = hb.GradientBoostingClassifier(n_estimators=100, random_state=0).fit(X, y)
    some = X[:200]
    rows = [json.dumps({f"x{j}": value for j, value in enumerate(row)}) for row in some.tolist()]
    return model, rows, model.predict(some).tolist()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    model, rows, expected = example()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.hornbeam"
        hb.save(model, path)
        server = Served(path)
        try:
            times, faults = load(server.port, rows, expected, seconds=seconds)
        finally:
            server.stop()
    p50, p99 = np.percentile(times, [50, 99]) * 1000
    print(f"{len(times)} answers in {seconds:g} s, {len(faults)} lost or wrong")
    print(f"p50 {p50:.1f} ms, p99 {p99:.1f} ms")


if __name__ == "__main__":
    main()
