"""The servers that `bench.http_servers` compares, each with its strictest settings.

Run as a script, in the virtual environment that has them: NAME PORT [CERTIFICATE KEY].
"""

import importlib
import ssl
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
PAGE = (b'ssd_disk_io_now{device="nvme0n1"} 3.0\n' * 6000)[:200_000]
BIG = PAGE * 40
DEADLINE_SECONDS = 5
CONNECTIONS = 64
HEADER_BYTES = 8192

Tls = tuple[str, str] | None


def wsgi(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    body = BIG if environ["PATH_INFO"] == "/big" else PAGE
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


async def asgi(scope: dict[str, Any], receive: Any, send: Any) -> None:  # noqa: ARG001
    body = BIG if scope["path"] == "/big" else PAGE
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def context(tls: Tls) -> ssl.SSLContext | None:
    if tls is None:
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*tls)
    return made


def prometheus_client(port: int, tls: Tls) -> None:
    client = importlib.import_module("prometheus_client")
    gauge = client.Gauge("ssd_disk_io_now", "In flight.", ["device"])
    for n in range(5000):
        gauge.labels(f"nvme{n}n1").set(n)
    cert, key = tls or (None, None)
    client.start_http_server(port, "127.0.0.1", certfile=cert, keyfile=key)
    threading.Event().wait()


def uvicorn(port: int, tls: Tls) -> None:
    cert, key = tls or (None, None)
    importlib.import_module("uvicorn").run(
        asgi, host="127.0.0.1", port=port, log_level="critical", lifespan="off", loop="asyncio",
        http="h11", backlog=128, limit_concurrency=CONNECTIONS, h11_max_incomplete_event_size=8192,
        timeout_keep_alive=DEADLINE_SECONDS, ssl_certfile=cert, ssl_keyfile=key,
    )  # fmt: skip


def hypercorn(port: int, tls: Tls) -> None:
    config = importlib.import_module("hypercorn.config").Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.backlog, config.h11_max_incomplete_size = 128, HEADER_BYTES
    config.keep_alive_timeout = config.read_timeout = config.ssl_handshake_timeout = (
        DEADLINE_SECONDS
    )
    config.certfile, config.keyfile = tls or (None, None)
    config.errorlog = None
    serve = importlib.import_module("hypercorn.asyncio").serve
    importlib.import_module("asyncio").run(serve(asgi, config))


def tornado(port: int, tls: Tls) -> None:
    web = importlib.import_module("tornado.web")
    importlib.import_module("logging").disable()

    def get(self: Any) -> None:
        self.finish(BIG if self.request.path == "/big" else PAGE)

    page = type("Page", (web.RequestHandler,), {"get": get, "compute_etag": lambda _self: None})
    loop = importlib.import_module("tornado.ioloop").IOLoop.current()
    server = importlib.import_module("tornado.httpserver").HTTPServer(
        web.Application([("/.*", page)]), ssl_options=context(tls), max_header_size=HEADER_BYTES,
        idle_connection_timeout=DEADLINE_SECONDS, body_timeout=DEADLINE_SECONDS,
    )  # fmt: skip
    server.listen(port, "127.0.0.1")
    loop.start()


def waitress(port: int, tls: Tls) -> None:
    if tls:
        sys.exit("no TLS")
    importlib.import_module("logging").disable()
    importlib.import_module("waitress").serve(
        wsgi, host="127.0.0.1", port=port, threads=2, connection_limit=CONNECTIONS, backlog=128,
        channel_timeout=DEADLINE_SECONDS, cleanup_interval=1, asyncore_use_poll=True,
        max_request_header_size=HEADER_BYTES,
    )  # fmt: skip


def cheroot(port: int, tls: Tls) -> None:
    server = importlib.import_module("cheroot.wsgi").Server(
        ("127.0.0.1", port), wsgi, numthreads=2, request_queue_size=128, timeout=DEADLINE_SECONDS
    )
    server.max_request_header_size = HEADER_BYTES
    server.error_log = lambda *_args, **_kwargs: None
    if tls:
        builtin = importlib.import_module("cheroot.ssl.builtin")
        server.ssl_adapter = builtin.BuiltinSSLAdapter(*tls)
    server.start()


def aiohttp(port: int, tls: Tls) -> None:
    web = importlib.import_module("aiohttp.web")

    async def get(request: Any) -> Any:
        return web.Response(body=BIG if request.path == "/big" else PAGE)

    app = web.Application()
    app.router.add_get("/{path:.*}", get)
    web.run_app(
        app, host="127.0.0.1", port=port, print=None, access_log=None, backlog=128,
        keepalive_timeout=DEADLINE_SECONDS, ssl_context=context(tls),
    )  # fmt: skip


def asyncio_h11(port: int, tls: Tls) -> None:
    """asyncio's streams and h11, with a bound, a deadline and an eviction by hand."""
    asyncio, h11 = importlib.import_module("asyncio"), importlib.import_module("h11")
    everyone: dict[Any, None] = {}
    waiting: dict[Any, None] = {}

    async def answer(reader: Any, writer: Any) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=HEADER_BYTES)
        while True:
            while (event := connection.next_event()) is h11.NEED_DATA:
                connection.receive_data(await reader.read(65536))
            waiting.pop(writer, None)
            if not isinstance(event, h11.Request):
                return
            body = BIG if event.target == b"/big" else PAGE
            head = h11.Response(status_code=200, headers=[("Content-Length", str(len(body)))])
            connection.next_event()
            data = (head, h11.Data(data=body), h11.EndOfMessage())
            writer.write(b"".join(connection.send(part) for part in data))
            await writer.drain()
            connection.start_next_cycle()

    async def accept(reader: Any, writer: Any) -> None:
        everyone[writer] = waiting[writer] = None
        if len(everyone) > CONNECTIONS:
            oldest = next(iter(waiting if len(waiting) > CONNECTIONS // 2 else everyone))
            waiting.pop(oldest, None)
            everyone.pop(oldest)
            oldest.transport.abort()
        try:
            await asyncio.wait_for(answer(reader, writer), DEADLINE_SECONDS)
        except (OSError, asyncio.TimeoutError, h11.ProtocolError):
            pass
        finally:
            waiting.pop(writer, None)
            everyone.pop(writer, None)
            writer.transport.abort()

    async def main() -> None:
        limit = {"ssl_handshake_timeout": DEADLINE_SECONDS} if tls else {}
        server = await asyncio.start_server(
            accept, "127.0.0.1", port, backlog=128, ssl=context(tls), **limit
        )
        await server.serve_forever()

    asyncio.run(main())


def ours(port: int, tls: Tls) -> None:
    sys.path.insert(0, str(HERE.parent.parent))
    server = importlib.import_module("exporter.web.server")
    web_config = None
    if tls:
        web_config = Path(tls[0]).with_name("web.yml")
        web_config.write_text(
            f"tls_server_config: {{cert_file: '{tls[0]}', key_file: '{tls[1]}'}}\n"
        )
    limits = server.Limits(connections=CONNECTIONS, request_seconds=DEADLINE_SECONDS)

    def respond(request: Any) -> Any:
        return server.Response(200, "text/plain", BIG if request.path == "/big" else PAGE)

    server.Server([("127.0.0.1", port)], respond, limits=limits, web_config=web_config).start()
    threading.Event().wait()


CANDIDATES: dict[str, Callable[[int, Tls], None]] = {
    "prometheus_client": prometheus_client,
    "uvicorn": uvicorn,
    "hypercorn": hypercorn,
    "tornado": tornado,
    "waitress": waitress,
    "cheroot": cheroot,
    "aiohttp": aiohttp,
    "asyncio_h11": asyncio_h11,
    "ours": ours,
}


def nothing(port: int, tls: Tls) -> None:  # noqa: ARG001
    """What the daemon has anyhow: the base that memory is counted from."""
    threading.Event().wait()


def main(name: str, port: str, *certificate: str) -> None:
    importlib.import_module("prometheus_client")
    tls = (certificate[0], certificate[1]) if certificate else None
    {**CANDIDATES, "nothing": nothing}[name](int(port), tls)


if __name__ == "__main__":
    main(*sys.argv[1:])
