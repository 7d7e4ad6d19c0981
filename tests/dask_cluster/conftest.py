"""A real cluster of processes, which the tests of a process share."""

import pytest


@pytest.fixture(scope="session")
def client():
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    client = distributed.Client(cluster)
    yield client
    client.close()
    cluster.close(timeout=120)  # busy machines take their time
