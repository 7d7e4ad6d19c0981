"""A real cluster of processes, which the tests of a process share."""

import pytest

dask = pytest.importorskip("dask")


@pytest.fixture(scope="session")
def client():
    distributed = pytest.importorskip("distributed")
    # On a busy machine a worker that was killed takes longer to come back.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"})
    cluster = distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    client = distributed.Client(cluster)
    yield client
    client.close()
    cluster.close(timeout=120)  # busy machines take their time
