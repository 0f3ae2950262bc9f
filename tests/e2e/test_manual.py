"""The manual in a real headless Chromium that reaches this server only."""

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [360, 1280])
def test_the_manual_works_without_a_network(browser, server, width):
    context = browser.new_context(viewport={"width": width, "height": 800}, locale="en-GB")
    page, wrong, elsewhere = context.new_page(), [], []

    def only_this_server(route):
        if route.request.url.startswith((server, "data:")):
            route.continue_()
        else:
            elsewhere.append(route.request.url)
            route.abort()

    context.route("**/*", only_this_server)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    page.goto(f"{server}/docs")
    page.wait_for_selector(".opblock")
    assert page.locator(".opblock").count() > 25
    version = page.locator("#operations-Health-version")
    version.locator(".opblock-summary-control").click()
    version.get_by_role("button", name="Execute").click()
    reply = version.locator(".live-responses-table .response").first
    reply.wait_for()
    assert reply.locator(".response-col_status").inner_text().startswith("200")
    context.close()
    assert (wrong, elsewhere) == ([], [])
