"""A model behind HTTP: `hornbeam serve`.

    app.py       the application: what is answered at which path, limits on size and time
    rows.py      rows from JSON and Arrow, checked against the columns of the model
    answers.py   answers as JSON and Arrow
    metrics.py   how many requests, how long they took, for Prometheus
    page.py      what a browser sees

It needs starlette and uvicorn, and pyarrow for tables in Arrow: pip install hornbeam[serve].
"""
