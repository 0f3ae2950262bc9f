"""The inspector in a real headless Chromium, over the real API and recorded conversations."""

from urllib.parse import quote

import pytest

from memsif_ray.api.app import make_app
from memsif_ray.service.keys import KeyRow
from tests.e2e.conftest import serving
from tests.e2e.recorded import LEARNED
from tests.e2e.recordings import HOSTILE

pytestmark = pytest.mark.browser

FRIENDS = "#/ines-rowan"
FACT = "#/ines-rowan/mem_ines_0"
ATTACK = "#/" + quote(HOSTILE.replace("/", "|"), safe="")
EVIDENCE = "He offered it yesterday! Apprentice at Abara & Daughter"


def tab_to(page, selector, *, key="Tab", most=400):
    """Press Tab until the focus is on an element; fails when it cannot be reached."""
    for _ in range(most):
        page.keyboard.press(key)
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} is not reached by {key}")


def focused(page):
    return page.evaluate("document.activeElement.textContent")


def is_as_wide_as(page, width):
    return page.evaluate("document.documentElement.scrollWidth") <= width


# What it shows


def test_a_conversation_shows_topics_threads_and_facts(open_page):
    page = open_page(FRIENDS)
    page.wait_for_selector(".message")
    assert page.locator(".block").count() == 24
    assert page.locator(".cord").count() == 6
    assert page.locator(".fact").count() == 8
    page.locator("#retired").check()
    page.wait_for_selector(".fact.retired")
    assert page.locator(".fact").count() == 9


def test_a_fact_has_validity_history_and_its_messages(open_page):
    page = open_page(FACT)
    page.wait_for_selector(".why .history")
    why = page.locator(".why").inner_text()
    assert "since 3 Jun 2024" in why
    assert page.locator(".history li").count() == 2
    assert page.locator(".grounds li").count() == 2
    page.wait_for_selector(".message.marked")
    assert EVIDENCE in page.locator(".message.marked").first.inner_text()
    assert page.locator(".block.marked").count() == 2


def test_candidates_show_both_scores_against_theta(open_page):
    page = open_page(FRIENDS)
    page.get_by_role("tab", name="Candidates").click()
    page.wait_for_selector(".candidate")
    figures = page.locator(".candidate").nth(1).locator(".figures").all_text_contents()
    assert figures == ["0.52 ≥ θ 0.45, reached", "0.31 < θ 0.45, not reached"]
    page.get_by_role("link", name="an ActiveFact").click()
    page.wait_for_selector(".why .queries")


def test_asking_does_not_teach(open_page, backend):
    page = open_page(FRIENDS)
    page.get_by_role("tab", name="Ask").click()
    page.get_by_label("Ask memory").fill("Who has the blue casserole dish?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer")
    assert page.locator(".answer").inner_text().startswith("Rowan returned the blue casserole dish")
    assert [request.learn for request in backend.asked] == [False]


def test_a_found_message_is_shown_in_the_timeline(open_page):
    page = open_page(FRIENDS)
    page.get_by_role("tab", name="Search").click()
    page.get_by_label("Search memory").fill("unicycle guest book signed")
    page.keyboard.press("Enter")
    page.locator(".found", has_text="Everyone signed it").get_by_role("button").click()
    page.wait_for_selector(".message.marked:focus")
    assert "Femi drew a unicycle" in focused(page)


def test_the_list_of_conversations_grows_by_pages(open_page):
    page = open_page()
    assert page.locator("#conversations li").count() == 50
    page.get_by_role("button", name="Show more").click()
    page.wait_for_selector("#conversations li:nth-child(63)")
    assert page.get_by_role("button", name="Show more").count() == 0


# For everybody


def test_from_a_conversation_to_its_sources_by_keyboard_alone(open_page):
    page = open_page()
    tab_to(page, "[data-conversation=ines-rowan]")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:focus")
    assert focused(page) == "ines-rowan"
    page.wait_for_selector(".message")
    page.wait_for_selector(".fact")
    tab_to(page, "#tab-facts")
    page.keyboard.press("ArrowRight")
    assert focused(page) == "Candidates"
    page.keyboard.press("Home")
    tab_to(page, "[data-memory=mem_ines_0]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".why h2:focus")
    tab_to(page, "[data-message]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".message.marked:focus")
    assert EVIDENCE in focused(page)
    tab_to(page, ".spotlight button:nth-of-type(3)", key="Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".why h2:focus")
    tab_to(page, ".back", key="Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-memory=mem_ines_0]:focus")
    assert page.locator(".message.marked").count() == 0


def test_the_map_is_one_stop_and_arrows_walk_it(open_page):
    page = open_page(FRIENDS)
    page.wait_for_selector(".message")
    tab_to(page, ".block")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label.startswith("Topic 23 of 24: duck umbrella, Gerald, 25 Aug 2024, 1 message")
    page.keyboard.press("Enter")
    page.wait_for_selector(".message:focus")
    assert "And the duck umbrella is back!" in focused(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing(open_page, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(width=width, color_scheme=scheme, bypass_csp=True)
    found = {"list": axe.run(page).response["violations"]}
    for place, ready in ((FRIENDS, ".message"), (FACT, ".why .history"), (ATTACK, ".message")):
        page.goto(f"{page.url.split('#')[0]}{place}")
        page.wait_for_selector(ready, state="attached")
        found[place] = axe.run(page).response["violations"]
    if width == 360:
        page.get_by_role("button", name="Memory").click()
    for name in ("Candidates", "Search", "Ask"):
        page.get_by_role("tab", name=name).click()
        found[name] = axe.run(page).response["violations"]
    told = [
        (where, rule["id"], node["html"])
        for where, rules in found.items()
        for rule in rules
        for node in rule["nodes"]
    ]
    assert told == []


@pytest.mark.parametrize("place", ["#/", FRIENDS, FACT, ATTACK, f"{ATTACK}/mem_h_0", "#/nowhere"])
def test_a_phone_needs_no_sideways_scrolling(open_page, place):
    page = open_page(place, width=360, height=740)
    page.wait_for_load_state("networkidle")
    assert is_as_wide_as(page, 360)
    views = page.locator("#views button:visible")
    for number in range(views.count()):
        views.nth(number).click()
        assert is_as_wide_as(page, 360)
    if place == "#/nowhere":
        open_page.wrong.clear()  # the browser itself tells of the 404


def test_nothing_moves_for_those_who_asked_for_stillness(open_page):
    page = open_page(FRIENDS, reduced_motion="reduce")
    page.wait_for_selector(".message")
    moving = (
        "[...document.querySelectorAll('*')].filter(e => getComputedStyle(e).transitionDuration !== '0s')"
    )
    assert page.evaluate(f"{moving}.length") == 0


# Against everybody


def test_hostile_text_stays_text(open_page):
    page = open_page(ATTACK)
    page.wait_for_selector(".message")
    page.locator("[data-memory]").click()
    page.wait_for_selector(".why .history")
    assert HOSTILE in page.locator(".why h2").text_content()
    assert "owned" not in page.title().split("·")[-1]
    assert page.locator("img").count() == 1  # our own
    assert page.locator("script").count() == 1
    assert page.locator("[onerror], [onload], [style*=expression]").count() == 0
    assert page.evaluate("document.title.startsWith('<img src=x')")


def test_the_browser_itself_refuses_text_as_markup(open_page):
    page = open_page()
    tried = (
        "() => { try { document.body.innerHTML = '<b>x</b>'; return 'done' } catch (e) { return e.name } }"
    )
    assert page.evaluate(tried) == "TypeError"
    open_page.wrong.clear()  # it says so in the console, too


def test_a_long_text_is_shown_in_full_on_demand(open_page):
    page = open_page(ATTACK)
    page.get_by_role("button", name="Show all 2,000 characters").click()
    assert page.locator(".said").filter(has_text="W" * 2_000).count() == 1


def test_ten_thousand_messages_are_never_all_on_the_page(open_page):
    page = open_page("#/long/mem_l_0")
    page.wait_for_selector(".message.marked")
    assert page.locator(".message.marked").inner_text().endswith("This is message number 7003.")
    for label in ("Later messages", "Earlier messages"):
        for _ in range(5):
            before = page.locator("#announcer").inner_text()
            page.get_by_role("button", name=label).click()
            page.wait_for_function("t => document.getElementById('announcer').textContent !== t", arg=before)
            assert page.locator(".message").count() <= 240


@pytest.mark.parametrize("method", ["segments", "messages", "memories", "candidates"])
def test_a_failure_is_told_with_its_request_id_and_can_be_tried_again(open_page, backend, method):
    backend.faults.add(method)
    page = open_page(FRIENDS)
    fault = page.locator(".fault", has_text="the store is locked")
    fault.wait_for(state="attached")
    if method == "candidates":
        page.get_by_role("tab", name="Candidates").click()
    assert fault.locator("code").inner_text().startswith("req_")
    backend.faults.clear()
    fault.get_by_role("button", name="Try again").click()
    fault.wait_for(state="detached")
    page.wait_for_selector(".message")
    open_page.wrong.clear()  # the browser itself tells of the 503


class OneKey:
    """Implements what the app needs of a `KeyStore`."""

    async def key_of(self, secret):
        return KeyRow("key1", "T1", "", LEARNED) if secret == "msk_right" else None


def test_a_server_with_keys_is_asked_with_one_that_stays_in_the_tab(open_page, backend):
    with serving(make_app(backend, OneKey())) as address:
        page = open_page(address=address)
        page.wait_for_selector("#key:focus")
        page.get_by_label("API key").fill("msk_wrong")
        page.keyboard.press("Enter")
        page.get_by_text("The server does not know this key.").wait_for()
        page.get_by_label("API key").fill("msk_right")
        page.keyboard.press("Enter")
        page.wait_for_selector("#conversations li")
        assert page.evaluate("[localStorage.length, document.cookie, sessionStorage.length]") == [0, "", 1]
        page.reload()
        page.wait_for_selector("#conversations li")
        page.get_by_role("button", name="Forget API key").click()
        page.wait_for_selector("#key:focus")
        assert page.evaluate("sessionStorage.length") == 0
    open_page.wrong.clear()  # the browser itself tells of each 401
