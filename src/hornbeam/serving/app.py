"""The application: paths, limits, errors. One model, loaded before the first request, answers them all.

    POST /predict   rows as JSON or Arrow; answers in the form that Accept asks for
    GET  /schema    the columns of the model      GET /health   whether it is there
    GET  /metrics   for Prometheus                GET /         the report, or what can be asked

A request that is too large or takes too long is refused and says so; so is one that asks for another host
than the one that is served. Whatever goes wrong with a request, the next one is answered.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from hornbeam._optional import require
from hornbeam.inside.words import printable
from hornbeam.serving.answers import answer_rows
from hornbeam.serving.metrics import Metrics
from hornbeam.serving.page import document_of_schema, page_of
from hornbeam.serving.rows import ARROW, BadRequest, RowReader, Rows, schema_of

__all__ = ["Limits", "make_app", "serve"]

# Up to so many rows are answered where they are; more go to another thread, so that others need not wait.
_ROWS_AT_ONCE = 16
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Limits:
    """How large a request may be, how long it may take, and how many may be under way."""

    body_bytes: int = 16 * 2**20
    seconds: float = 30.0
    requests: int = 256


def make_app(
    model: Any, *, report: str | None = None, limits: Limits | None = None, host: str = "127.0.0.1"
) -> Any:
    """Make the application for a fitted model; `report` is a page to show at the root."""
    return _Server(model, report, limits or Limits()).app(host)


def serve(model: Any, *, host: str, port: int, report: str | None, limits: Limits) -> None:
    """Answer requests until the process is asked to end."""
    uvicorn = require("uvicorn", purpose="Serving a model")
    app = make_app(model, report=report, limits=limits, host=host)
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        limit_concurrency=limits.requests,
        timeout_keep_alive=int(limits.seconds) or 1,
        server_header=False,
    )


class _Server:
    def __init__(self, model: Any, report: str | None, limits: Limits) -> None:
        self.model = model.set_params(n_jobs=1) if "n_jobs" in model.get_params() else model
        self.schema = schema_of(model)
        self.reader = RowReader(self.schema)
        self.page = page_of(model, self.schema) if report is None else report
        self.limits = limits
        self.metrics = Metrics()
        self._anyio = require("anyio", purpose="Serving a model")
        self._responses = require("starlette.responses", purpose="Serving a model")

    def app(self, host: str) -> Any:
        applications = require("starlette.applications", purpose="Serving a model")
        routing = require("starlette.routing", purpose="Serving a model")
        middleware: list[Any] = []
        if host in _LOOPBACK:  # a page of another site must not reach what is meant for this machine alone
            hosts = require("starlette.middleware.trustedhost", purpose="Serving a model")
            kind = require("starlette.middleware", purpose="Serving a model").Middleware
            middleware = [
                kind(hosts.TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", "[::1]"])
            ]
        paths: list[tuple[str, Callable[[Any], Awaitable[Any]], str]] = [
            ("/predict", self.predict, "POST"),
            ("/schema", self.tell_schema, "GET"),
            ("/health", self.tell_health, "GET"),
            ("/metrics", self.tell_metrics, "GET"),
            ("/", self.tell_page, "GET"),
        ]
        routes = [
            routing.Route(path, self._timed(path, answer), methods=[verb]) for path, answer, verb in paths
        ]
        return applications.Starlette(routes=routes, middleware=middleware)

    def _timed(self, path: str, answer: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        async def endpoint(request: Any) -> Any:
            begin = time.perf_counter()
            try:
                response = await self._within_time(answer, request)
            except BadRequest as error:
                body = {"error": str(error), **error.where}
                response = self._responses.JSONResponse(body, status_code=error.status)
            self.metrics.add(path, response.status_code, time.perf_counter() - begin)
            return response

        return endpoint

    async def _within_time(self, answer: Callable[[Any], Awaitable[Any]], request: Any) -> Any:
        try:
            with self._anyio.fail_after(self.limits.seconds):
                return await answer(request)
        except TimeoutError:
            raise BadRequest(
                f"The request took more than {self.limits.seconds:g} seconds.", status=503
            ) from None

    # --- Predictions -------------------------------------------------------------------------------------

    async def predict(self, request: Any) -> Any:
        """Answer rows."""
        kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
        if kind not in ("application/json", "text/json", ARROW):
            raise BadRequest(
                f"The request declares its body as {printable(kind)[:80]}; rows come as application/json or "
                f"{ARROW}. "
                "Name one as Content-Type, which curl does with --json in the place of -d.",
                status=415,
            )
        body = await self._body(request)
        rows = self.reader.from_arrow(body) if kind == ARROW else self.reader.from_json(body)
        if rows.n_rows <= _ROWS_AT_ONCE:
            answer = self._ask(rows)
        else:
            answer = await self._anyio.to_thread.run_sync(self._ask, rows, abandon_on_cancel=True)
        self.metrics.add_rows(rows.n_rows)
        if request.headers.get("accept", "") == ARROW:
            return self._responses.Response(answer.arrow(), media_type=ARROW)
        return self._responses.JSONResponse(answer.document(rows))

    def _ask(self, rows: Rows) -> Any:
        try:
            return answer_rows(self.model, rows)
        except (ValueError, TypeError) as error:  # what the model refuses names the column and the row
            raise BadRequest(str(error)) from None

    async def _body(self, request: Any) -> bytes:
        most = self.limits.body_bytes
        stated = request.headers.get("content-length", "")
        if stated.isdigit() and int(stated) > most:
            raise BadRequest(f"The body has {stated} bytes; {most} are allowed.", status=413)
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise BadRequest(f"The body has more than the {most} bytes that are allowed.", status=413)
            parts.append(part)
        return b"".join(parts)

    # --- What there is -----------------------------------------------------------------------------------

    async def tell_schema(self, request: Any) -> Any:
        """Describe the model."""
        return self._responses.JSONResponse(document_of_schema(self.model, self.schema))

    async def tell_health(self, request: Any) -> Any:
        """Say that the model is there."""
        return self._responses.JSONResponse({"status": "ok"})

    async def tell_metrics(self, request: Any) -> Any:
        """Tell what was done so far."""
        return self._responses.PlainTextResponse(self.metrics.text())

    async def tell_page(self, request: Any) -> Any:
        """Show the report."""
        return self._responses.HTMLResponse(self.page)
