"""What can be measured on a page: whether it fits, whether it moves, and where it leads."""

from playwright.async_api import Page

from web.e2e.scene import DESKTOP, PHONE
from web.e2e.tour import Stop, settled

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
MOVING = """colours => document.getAnimations().filter(({ playState, effect }) => playState === 'running'
  && effect.getKeyframes().some(frame => Object.keys(frame).some(name =>
    !['offset', 'computedOffset', 'easing', 'composite', 'opacity', ...colours].includes(name))))
  .map(({ effect, animationName, transitionProperty }) =>
    `${animationName ?? transitionProperty} of ${effect.target.className}`)"""


COLOURS = ["color", "backgroundColor", "scrollbarColor"]


async def misfits(page: Page, stop: Stop) -> list[str]:
    """What does not fit, at each width the stop is there at."""
    found: list[str] = []
    for width, height in [PHONE] if stop.phone else [DESKTOP, TABLET, PHONE]:
        await page.set_viewport_size({"width": width, "height": height})
        await settled(page)
        found += [f"at {width}: {each}" for each in await page.evaluate(MEASURE)]
    return found


async def elsewhere(page: Page) -> list[str]:
    """Which other servers it leads to."""
    found: list[str] = await page.evaluate(ELSEWHERE)
    return [f"leads to {place}" for place in found]


async def moving(page: Page) -> list[str]:
    """What moves for somebody who does not want that, other than colours and opacity."""
    await page.emulate_media(reduced_motion="reduce")
    await settled(page)
    found: list[str] = await page.evaluate(MOVING, COLOURS)
    await page.emulate_media(reduced_motion="no-preference")
    return [f"moves: {each}" for each in found]
