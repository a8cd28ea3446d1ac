"""It fits every screen: nothing scrolls sideways, nothing is cut off, and nothing moves for whoever wants that."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from web.e2e.scene import DESKTOP, PHONE, needs_chromium
from web.e2e.tour import Stop, Tours, settled, tour_of_new, tour_of_team

pytestmark = [needs_chromium, pytest.mark.timeout(420)]

TABLET = (768, 1024)
MEASURE = """() => {
  const found = [];
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > innerWidth) found.push(`the page is ${scrollWidth} px wide in ${innerWidth}`);
  const named = one => (one.getAttribute('aria-label') || one.textContent || one.name || one.id).trim().slice(0, 40)
    + ` <${one.localName} class="${String(one.className).slice(0, 80)}">`;
  const hides = { x: /hidden|clip/, scrolls: /auto|scroll/ };
  const kinds = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [role=tab], [role=slider]';
  for (const one of document.querySelectorAll(kinds)) {
    const box = one.getBoundingClientRect();
    const look = getComputedStyle(one);
    if (!one.checkVisibility({ visibilityProperty: true }) || box.width <= 1 || look.clip !== 'auto') continue;
    if (one.closest('[inert], [aria-hidden=true], .sr-only, [data-radix-focus-guard]')) continue;
    // Whatever scrolls can be scrolled to; what hides its overflow cannot.
    let left = 0;
    let right = innerWidth;
    for (let at = one.parentElement; at; at = at.parentElement) {
      const overflow = getComputedStyle(at).overflowX;
      const frame = at.getBoundingClientRect();
      if (hides.scrolls.test(overflow)) { left = -Infinity; right = Infinity; break; }
      if (hides.x.test(overflow)) { left = Math.max(left, frame.left); right = Math.min(right, frame.right); }
    }
    if (box.left < left - 1 || box.right > right + 1) found.push(`cut off: ${named(one)}`);
    const inText = one.localName === 'a' && look.display.startsWith('inline') && !look.display.includes('flex');
    const labelled = one.closest('label')?.getBoundingClientRect();
    const [width, height] = labelled ? [labelled.width, labelled.height] : [box.width, box.height];
    const close = near(one, box);
    if (!inText && (width < 23.5 || height < 23.5) && close)
      found.push(`small, ${Math.round(width)} by ${Math.round(height)} px, beside ${named(close)}: ${named(one)}`);
  }
  // WCAG 2.5.8: a smaller target will do if a circle of 24 px around its middle touches no other target.
  function near(one, box) {
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    for (let turn = 0; turn < 8; turn += 1) {
      const angle = (turn * Math.PI) / 4;
      const other = document.elementFromPoint(x + 11 * Math.cos(angle), y + 11 * Math.sin(angle))?.closest(kinds);
      if (other && other !== one && !one.contains(other) && !other.contains(one)) return other;
    }
    return null;
  }
  return [...new Set(found)];
}"""
ELSEWHERE = """() => [...document.querySelectorAll('a[href], form[action], area[href], [src], link[href]')]
  .map(one => one.href ?? one.src ?? one.action)
  .filter(place => typeof place === 'string' && /^https?:/.test(place) && new URL(place).origin !== location.origin)"""
MOVING = """() => document.getAnimations().filter(({ playState, effect }) => playState === 'running'
  && effect.getKeyframes().some(frame => Object.keys(frame).some(name =>
    !['offset', 'computedOffset', 'easing', 'composite', 'opacity', 'color', 'backgroundColor'].includes(name))))
  .map(({ effect, animationName, transitionProperty }) =>
    `${animationName ?? transitionProperty} of ${effect.target.className}`)"""


async def measured(page: Page, stop: Stop) -> list[str]:
    """What does not fit, at each width the stop is there at."""
    found: list[str] = []
    for width, height in [PHONE] if stop.phone else [DESKTOP, TABLET, PHONE]:
        await page.set_viewport_size({"width": width, "height": height})
        await settled(page)
        found += [f"{stop.name} at {width}: {each}" for each in await page.evaluate(MEASURE)]
    return found


@pytest.mark.parametrize("tour", [tour_of_new, tour_of_team])
async def test_everything_fits(tmp_path: Path, tour: Tours) -> None:
    """C9, C10: on a phone, a tablet and a desktop; no link leads to another server."""
    found: list[str] = []
    async with tour(tmp_path) as way:
        async for stop, page in way.walk():
            elsewhere: list[Any] = await page.evaluate(ELSEWHERE)
            found += [f"{stop.name} leads to {place}" for place in elsewhere]
            found += await measured(page, stop)
    assert found == [], "\n".join(found)


async def test_nothing_moves_for_whoever_wants_that(tmp_path: Path) -> None:
    """C9, C10: with reduced motion only colours and opacity change, also while an answer streams."""
    found: list[str] = []
    async with tour_of_team(tmp_path) as way:
        await way.page.emulate_media(reduced_motion="reduce")
        way.stops = [stop for stop in way.stops if stop.name in STILL]
        assert len(way.stops) == len(STILL)
        async for stop, page in way.walk():
            found += [f"{stop.name}: {each}" for each in await page.evaluate(MOVING)]
    assert found == []


STILL = {
    "chat-streaming",
    "chat-queued",
    "chat-tools-unfolded",
    "chat-delete",
    "run",
    "run-replay",
    "help",
    "drawer",
}
