"""Two hundred ways to make a page run or fetch something, each of which must stay words."""

from itertools import product

EVIL = "https://evil.example"
_RUNS = "window.__ran=1"
_TAGS = [
    "<script>{run}</script>",
    "<script src={evil}/a.js></script>",
    "<img src=x onerror={run}>",
    "<img src={evil}/a.png>",
    "<svg onload={run}>",
    "<svg><script>{run}</script></svg>",
    "<svg><animate onbegin={run} attributeName=x dur=1s>",
    "<svg><use href='{evil}/a.svg#x'/></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror={run}>",
    "<iframe src=javascript:{run}></iframe>",
    "<iframe srcdoc='<script>parent.{run}</script>'></iframe>",
    "<object data={evil}/a.swf></object>",
    "<embed src={evil}/a.swf>",
    "<link rel=stylesheet href={evil}/a.css>",
    "<link rel=prefetch href={evil}/a.js>",
    "<meta http-equiv=refresh content='0;url={evil}'>",
    "<base href={evil}/>",
    "<form action={evil}><input name=a><button>x</button></form>",
    "<input autofocus onfocus={run}>",
    "<details open ontoggle={run}>x</details>",
    "<video src={evil}/a.mp4 onerror={run} autoplay></video>",
    "<audio src={evil}/a.mp3 autoplay></audio>",
    "<video poster={evil}/a.png></video>",
    "<marquee onstart={run}>x</marquee>",
    "<body onload={run}>",
    "<div style='background:url({evil}/a.png)'>x</div>",
    "<style>@import '{evil}/a.css';</style>",
    "<a href=javascript:{run}>x</a>",
    "<a href='{evil}' ping='{evil}/ping'>x</a>",
    "<template><script>{run}</script></template>",
    "<noscript><p title='</noscript><img src=x onerror={run}>'>",
    "<textarea><img src=x onerror={run}></textarea>",
    "<title><img src=x onerror={run}></title>",
    "<!--><img src=x onerror={run}>-->",
    "<![CDATA[<img src=x onerror={run}>]]>",
    "<x onclick={run} onmouseover={run} tabindex=1>x</x>",
    "<p id=root name=location>x</p>",
    "<picture><source srcset={evil}/a.png><img></picture>",
    "<select><img src=x onerror={run}></select>",
    "<portal src={evil}></portal>",
]
_SCHEMES = [
    "javascript:{run}",
    "JaVaScRiPt:{run}",
    "java\tscript:{run}",
    " javascript:{run}",
    "javascript&colon;{run}",
    "&#106;avascript:{run}",
    "&#x6A;avascript:{run}",
    "javascript:/*--></title></style></textarea></script>*/{run}",
    "vbscript:msgbox(1)",
    "data:text/html,<script>{run}</script>",
    "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
    "data:image/svg+xml,<svg onload={run}>",
    "blob:{evil}/x",
    "file:///etc/passwd",
    "//evil.example/a",
    "\\\\evil.example\\a",
    "https:evil.example",
    "javascript:%0a{run}",
    "\u0001javascript:{run}",
    "feed:javascript:{run}",
]
_LINKS = ["[x]({url})", "[x](<{url}>)", "<{url}>", "![x]({url})", '![x]({url} "t")']
_TRICKS = [
    "![x]({evil}/a.png)",
    "![x][r]\n\n[r]: {evil}/a.png",
    '[x]({evil} "\\"onmouseover={run}")',
    "[x](https://a'onmouseover={run}//)",
    "[![x]({evil}/a.png)](javascript:{run})",
    "`<script>{run}</script>`",
    "```html\n<script>{run}</script>\n```",
    '```"><img src=x onerror={run}>\ncode\n```',
    '```js" onmouseover={run} x="\ncode\n```',
    "| <img src=x onerror={run}> | b |\n| - | - |\n| <script>{run}</script> | ![x]({evil}/a.png) |",
    "- [ ] <img src=x onerror={run}>",
    "# <svg onload={run}>",
    "> <iframe src=javascript:{run}>",
    "$\\href{{javascript:{run}}}{{x}}$",
    "$$\\href{{javascript:{run}}}{{x}}$$",
    "$$\\includegraphics{{{evil}/a.png}}$$",
    "$$\\htmlStyle{{background:url({evil}/a.png)}}{{x}}$$",
    '$$\\htmlClass{{x" onclick="{run}}}{{x}}$$',
    "$$\\unicode{{<img src=x onerror={run}>}}$$",
    "$$\\text{{<img src=x onerror={run}>}}$$",
    "$$\\def\\a{{\\a\\a}}\\a$$",
    "$$\\color{{red;background:url({evil}/a.png)}}x$$",
    "$$\\url{{javascript:{run}}}$$",
    "[^1]\n\n[^1]: <img src=x onerror={run}>",
    "http://evil.example/<script>{run}</script>",
    'www.evil.example/"onmouseover={run}',
    "<javascript:{run}@evil.example>",
    "mailto:a@evil.example?body=<script>{run}</script>",
    "&lt;img src=x onerror={run}&gt;",
    "&#60;script&#62;{run}&#60;/script&#62;",
    "\\<script>{run}\\</script>",
    "<scr<script>ipt>{run}</scr</script>ipt>",
    "<img src=`x`onerror={run}>",
    "<img/src=x/onerror={run}>",
    "<a\u00a0href=javascript:{run}>x</a>",
    "</article></main></div><script>{run}</script>",
    "{{{{constructor.constructor('{run}')()}}}}",
    "${{{run}}}",
    "<%= {run} %>",
    "\u202e<script>{run}</script>",
]


def _filled(text: str) -> str:
    return (
        text.replace("{{", "\0")
        .replace("}}", "\1")
        .replace("{run}", _RUNS)
        .replace("{evil}", EVIL)
        .replace("\0", "{")
        .replace("\1", "}")
    )


_LINKED = [form.replace("{url}", scheme) for form, scheme in product(_LINKS, _SCHEMES)]
_FORMS = [_filled(text) for text in (*_TAGS, *_LINKED, *_TRICKS)]
PAYLOADS = [*_FORMS, *("\"'>" + text for text in _FORMS[:20])]
"""180 forms, and the first twenty once more behind what would end an attribute."""
