"""URLs, read strictly."""

import pytest

from agio.egress import parse_target
from agio.egress.target import join_target
from agio.errors import UserError

REFUSED = [
    *("", "http", "http:", "http:/", "http://", "http:///x", "//example.com/", "/x", "example.com", "://x"),
    *(
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "data:text/html,x",
        "dict://h:1/x",
    ),
    *("jar:http://example.com!/", "ldap://h/", "unix:///x", "ws://h/", "javascript:alert(1)", "httpx://h/"),
    *("http:example.com", "http:/example.com", "http:\\\\example.com", "http://example.com\\@h", "\\\\h\\x"),
    *("http://u@example.com/", "http://u:p@example.com/", "http://@example.com/", "http://:@example.com"),
    *(
        "http://a@b@example.com",
        "http://example.com%00.h/",
        "http://%31%32%37.0.0.1/",
        "http://ex%61mple.com/",
    ),
    *(" http://example.com/", "http://example.com/ ", "http://exa mple.com/", "http://example.com/a b"),
    *("http://example.com/\n", "http://exam\tple.com/", "http://example.com/\x00", "http://example.com/\x7f"),
    *(
        "http://example.com/\u2028",
        "http://example.com/\u00a0",
        "http://example.com/\u200b",
        "http://h/\ud800",
    ),
    *("http://example.com:0/", "http://example.com:65536/", "http://example.com:99999999/", "http://h:/"),
    *("http://example.com:-1/", "http://example.com:+80/", "http://example.com:0x50/", "http://h:080/"),
    *(
        "http://example.com:80:80/",
        "http://example.com:\uff18\uff10/",
        "http://example.com:80a/",
        "http://h:8 0/",
    ),
    *("http://example.com./", "http://example.com../", "http://.example.com/", "http://a..b/", "http://./"),
    *("http://-a.com/", "http://a-.com/", "http://" + "a" * 64 + ".com/", "http://" + "a." * 127 + "com/"),
    *(
        "http://a,b.com/",
        "http://a;b/",
        "http://a$b/",
        "http://a'b/",
        "http://a*b/",
        "http://a{b}/",
        "http://a|b",
    ),
    *("http://2130706433/", "http://0x7f000001/", "http://017700000001/", "http://127.1/", "http://127.0.1/"),
    *(
        "http://0177.0.0.1/",
        "http://0x7f.0.0.1/",
        "http://0x7f.1/",
        "http://127.0.0.01/",
        "http://127.0.0.256/",
    ),
    *(
        "http://127.0.0.1./",
        "http://1.2.3.4.5/",
        "http://0/",
        "http://0x/",
        "http://256.256.256.256/",
        "http://09/",
    ),
    *(
        "http://foo.0x7f/",
        "http://foo.127/",
        "http://127\u30020\u30020\u30021/",
        "http://127\uff0e0\uff0e0\uff0e1/",
        "http://127\uff610\uff610\uff611/",
    ),
    *(
        "http://\uff11\uff12\uff17.0.0.1/",
        "http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/",
        "http://\u24d4\u24e7\u24d0\u24dc\u24df\u24db\u24d4.com/",
        "http://\uff1127.0.0.1/",
        "http://\u2121.com/",
    ),
    *(
        "http://\uff4cocalhost/",
        "http://\U0001d7cf\U0001d7d0\U0001d7d5.\U0001d7ce.\U0001d7ce.\U0001d7cf/",
        "http://\u0661\u0662\u0667.\u0660.\u0660.\u0661/",
        "http://exa\u2100mple.com/",
        "http://a\u2044b.com/",
    ),
    *(
        "http://evil.c\u2100.example/",
        "http://xn--a\u0338/",
        "http://\u00df\u0300\u200d.com/",
        "http://[::1",
        "http://::1/",
    ),
    *("http://[::1]x/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[::1%]/", "http://[]/"),
    *(
        "http://[127.0.0.1]/",
        "http://[v1.x]/",
        "http://[::g]/",
        "http://[:::]/",
        "http://[::1]:0/",
        "http://[::1]:",
    ),
    *("http://[[::1]]/", "http://[::\uff11]/", "http://[::ffff:127.1]/", "http://[::ffff:0x7f000001]/"),
    "http://\u212aelvin.com/",
    "http://example.com/" + "x" * 9000,
]


@pytest.mark.parametrize("url", REFUSED)
def test_what_readers_could_understand_differently_is_refused(url: str) -> None:
    """C3: one code for all of it, before any name is looked up."""
    with pytest.raises(UserError) as refused:
        parse_target(url)
    assert refused.value.code == "egress_refused"


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "called"),
    [
        ("http://example.com", "example.com", 80, "/", "http://example.com/"),
        ("HTTPS://EXAMPLE.com/A?b=C#d", "example.com", 443, "/A?b=C", "https://example.com/A?b=C"),
        ("https://example.com:443/", "example.com", 443, "/", "https://example.com/"),
        ("https://example.com:80/", "example.com", 80, "/", "https://example.com:80/"),
        ("http://example.com?x=1", "example.com", 80, "/?x=1", "http://example.com/?x=1"),
        ("http://8.8.8.8:53/", "8.8.8.8", 53, "/", "http://8.8.8.8:53/"),
        ("http://[2606:4700:0::1111]/", "2606:4700::1111", 80, "/", "http://[2606:4700::1111]/"),
        ("http://[::ffff:7f00:1]:8/", "::ffff:7f00:1", 8, "/", "http://[::ffff:7f00:1]:8/"),
        ("http://müller.de/ä?ö=ü", "xn--mller-kva.de", 80, "/%C3%A4?%C3%B6=%C3%BC", None),
        ("http://MÜLLER.de/", "xn--mller-kva.de", 80, "/", "http://xn--mller-kva.de/"),
        ("http://mu\u0308ller.de/", "xn--mller-kva.de", 80, "/", "http://xn--mller-kva.de/"),
        ("http://my_host.internal/", "my_host.internal", 80, "/", "http://my_host.internal/"),
        ("http://a/%2e%2e/%00?%0d%0a", "a", 80, "/%2e%2e/%00?%0d%0a", "http://a/%2e%2e/%00?%0d%0a"),
        ('http://a/"<>^`{|}', "a", 80, "/%22%3C%3E%5E%60%7B%7C%7D", None),
        ("http://a/@b:c", "a", 80, "/@b:c", "http://a/@b:c"),
        ("http://a?@127.0.0.1/", "a", 80, "/?@127.0.0.1/", "http://a/?@127.0.0.1/"),
        ("http://a#@127.0.0.1/", "a", 80, "/", "http://a/"),
    ],
)
def test_a_plain_url_is_taken_apart(url: str, host: str, port: int, path: str, called: str | None) -> None:
    """C3: names in lower case and ASCII, the path as it was, what HTTP cannot carry percent-encoded."""
    target = parse_target(url)
    assert (target.host, target.port, target.path) == (host, port, path)
    assert called is None or target.url == called


@pytest.mark.parametrize(
    ("location", "called"),
    [
        ("/x", "https://a.test:8443/x"),
        ("x", "https://a.test:8443/b/x"),
        ("../x", "https://a.test:8443/x"),
        ("?x", "https://a.test:8443/b/c?x"),
        ("//b.test/x", "https://b.test/x"),
        ("http://b.test", "http://b.test/"),
        ("/@b.test", "https://a.test:8443/@b.test"),
        (".b.test/x", "https://a.test:8443/b/.b.test/x"),
        ("@b.test/x", "https://a.test:8443/b/@b.test/x"),
    ],
)
def test_a_redirect_leads_where_browsers_go(location: str, called: str) -> None:
    """C3: relative to where it came from."""
    assert join_target(parse_target("https://a.test:8443/b/c?d"), location).url == called


@pytest.mark.parametrize(
    "location",
    [
        *(
            "///b.test/",
            "////b.test",
            "\\\\b.test",
            "/\\b.test",
            "http:b.test",
            "https:/b.test",
            "https:///b.test",
        ),
        *("//b@c.test", "//", "http://", "file:///x", "javascript:0", "data:,x", " //b.test", "//b.test\t"),
    ],
)
def test_a_redirect_that_readers_disagree_about_is_refused(location: str) -> None:
    """C3: some would leave the origin, some would not."""
    with pytest.raises(UserError) as refused:
        join_target(parse_target("https://a.test/b"), location)
    assert refused.value.code == "egress_refused"
