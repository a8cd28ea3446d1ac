"""The page of traces, and a run's links: what was sent, what was refused, a test, and what is sent at all."""

from pathlib import Path

from playwright.async_api import Page, expect

from agio.testing import Reply
from tests.support.collector import Collector, collecting
from web.e2e.axe import violations
from web.e2e.scene import PHONE, needs_chromium, process_scene, say, slow
from web.e2e.tour import settled

pytestmark = [needs_chromium, slow]


def environment(collector: Collector) -> dict[str, str]:
    """Send traces to the collector, in both formats."""
    return {
        "OPENAI_TRACES_ENDPOINT": f"{collector.url}/v1/traces/ingest",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "AGIO_TRACE_URL": "https://see.test/{trace_id}",
        "AGIO_LIMITS": '{"traces_s": 0.2}',
    }


async def check(page: Page) -> None:
    """Wait until the page is drawn, and find nothing that keeps anybody out."""
    await settled(page)
    assert await violations(page) == []
    wide = await page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    assert not wide


async def test_the_page_says_what_became_of_traces_and_a_run_links_to_its_own(tmp_path: Path) -> None:
    """R10: endpoint, counters, last error, test and switch on the page; links on the run's."""
    async with (
        collecting() as collector,
        process_scene(tmp_path, lambda call: Reply("Hello."), environment(collector)) as here,
    ):
        page = await here.visitor()
        agent = await here.make_agent(page, "Desk")
        await page.goto(f"{here.url}/chat?agent={agent}")
        await say(page, "Say something.")
        await expect(page.get_by_text("Hello.")).to_be_visible()
        await page.goto(f"{here.url}/settings/observability")
        service = page.get_by_role("region", name="OpenAI dashboard")
        await expect(service.get_by_text("Runs sent", exact=True).locator("..")).to_contain_text("1")
        await expect(service.get_by_text(f"{collector.url}/v1/traces/ingest")).to_be_visible()
        await service.get_by_role("button", name="Send a test trace").click()
        await expect(service.get_by_text("Accepted in")).to_be_visible()
        await check(page)

        await page.get_by_label("What is sent of this team's runs").select_option("structure")
        await expect(page.get_by_text("Saved for runs that are sent from now on").first).to_be_visible()
        collector.status = 401
        await service.get_by_role("button", name="Send a test trace").click()
        await expect(service.get_by_text("It does not accept the key (401).").first).to_be_visible()
        await page.goto(f"{here.url}/chat?agent={agent}")
        await say(page, "Once more.")
        await expect(page.get_by_text("Hello.").first).to_be_visible()
        await page.goto(f"{here.url}/settings/observability")
        await expect(service.get_by_text("Refused", exact=True).locator("..")).to_contain_text("1")
        await expect(service.get_by_text("traces_refused")).to_be_visible()
        await page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        await check(page)

        await page.goto(f"{here.url}/runs")
        await page.get_by_role("link", name="Say something.").locator("visible=true").first.click()
        link = page.get_by_role("link", name="Open in the trace viewer")
        await expect(link).to_have_attribute("href", "https://see.test/" + await _trace_id(collector))
        await check(page)


async def _trace_id(collector: Collector) -> str:
    """The id of the first trace that came as OTLP."""
    await collector.wait_for(1)
    while not (posts := [post for post in collector.posts if post.path == "/v1/traces"]):
        await collector.wait_for(len(collector.posts) + 1)
    spans = posts[0].body["resourceSpans"]
    return str(spans[0]["scopeSpans"][0]["spans"][0]["traceId"])  # pyright: ignore
