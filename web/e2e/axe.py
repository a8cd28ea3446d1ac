"""What axe, which knows the rules of accessibility, finds on a page."""

from pathlib import Path

from playwright.async_api import Page

from web.e2e.tour import settled

AXE = Path(__file__).parents[1] / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# A menu or a tooltip belongs to the button it hangs on, which is in a landmark.
SETTING = """axe.configure({ checks: [{ id: 'region', options: { regionMatcher:
  'dialog, [role=dialog], [role=alertdialog], svg, [data-radix-popper-content-wrapper]' } }] })"""
LOOK = """async rules => {
  const { violations } = await axe.run(document, { runOnly: rules, resultTypes: ['violations'] });
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, html, failureSummary }) =>
    `${id}: ${target.join(' ')}\\n${html.slice(0, 200)}\\n${failureSummary}`));
}"""


async def violations(page: Page) -> list[str]:
    """What axe finds in light, and what of the colours in dark: nothing else of a page changes with them."""
    if await page.evaluate("typeof axe === 'undefined'"):
        await page.evaluate(AXE.read_text())
        await page.evaluate(SETTING)
    found: list[str] = await page.evaluate(LOOK, RULES)
    await page.emulate_media(color_scheme="dark")
    await settled(page)
    found += [f"dark: {each}" for each in await page.evaluate(LOOK, ["color-contrast"])]
    await page.emulate_media(color_scheme="light")
    return found
