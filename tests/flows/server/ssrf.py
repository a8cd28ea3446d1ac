"""Ways to make a server call what it must not: every address here leads inside, or would with another reader.

`{port}` is the port of a server that listens inside and must hear nothing, `{open}` that of one that may be called.
"""

LOOPBACK = [
    *("127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "127.1", "127.0.1", "127.000.000.001"),
    *(
        "2130706433",
        "02130706433",
        "4294967297",
        "0x7f000001",
        "0X7F000001",
        "0x7f.0.0.1",
        "0x7f.1",
        "0x7f.0x0.0x1",
    ),
    *("0x7f.0x00.0x00.0x01", "0x0000000000007f000001", "017700000001", "0177.0.0.1", "0177.0.0.01", "0177.1"),
    *(
        "00000177.0.0.1",
        "127.0x1",
        "127.0.0.0x1",
        "127.0.0.1.",
        "127.0.0.1..",
        "127..1",
        "0",
        "0.0.0.0",
        "0x0",
    ),
    *("00", "0.0", "0.0.0.0.", "1.2.3.4.5", "256.0.0.1", "127.0.0.256"),
    *("localhost", "LOCALHOST", "LocalHost", "localhost.", "a.localhost", "a.b.localhost", "a.LOCALHOST"),
    *("127\u30020\u30020\u30021", "127\uff0e0\uff0e0\uff0e1", "127\uff610\uff610\uff611", "127.0.0\u30021"),
    *("\uff11\uff12\uff17.0.0.1", "\uff11\uff12\uff17.\uff10.\uff10.\uff11", "12\uff17.0.0.1"),
    *("\u2460\u2461\u2466.\u24ea.\u24ea.\u2460", "\u2474\u2475\u247a.0.0.1", "\u00b9\u00b2\u2077.0.0.1"),
    *(
        "\U0001d7cf\U0001d7d0\U0001d7d5.0.0.1",
        "\u0661\u0662\u0667.\u0660.\u0660.\u0661",
        "\u0967\u0968\u096d.0.0.1",
    ),
    *(
        "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3",
        "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54",
    ),
    *("loc\u00adalhost", "local\u200bhost", "localhost\u3002", "lo\u212aalhost", "loca\u0131host\u3002"),
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::0.0.0.1]", "[::127.0.0.1]", "[::7f00:1]"),
    *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:7F00:0001]", "[0:0:0:0:0:ffff:127.0.0.1]"),
    *(
        "[::ffff:0:127.0.0.1]",
        "[::ffff:0.0.0.0]",
        "[::ffff:127.1]",
        "[::ffff:0x7f000001]",
        "[::ffff:0177.0.0.1]",
    ),
    *(
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2002:7f00:1::1]",
    ),
    *("[2001:0:7f00:1::]", "[2001::80ff:fffe]", "[fe80::5efe:127.0.0.1]", "[2606:4700::5efe:127.0.0.1]"),
    *(
        "[::1%25lo]",
        "[::1%lo]",
        "[::1%251]",
        "[fe80::1%25eth0]",
        "[fe80::1%1]",
        "[::1%]",
        "[::1",
        "::1",
        "[[::1]]",
    ),
    *("[127.0.0.1]", "[0x7f000001]", "[localhost]", "[::1].", "[::1]a", "[v1.127.0.0.1]", "[::\uff11]"),
    *(
        "%31%32%37.0.0.1",
        "127.0.0.1%2f",
        "127%2e0%2e0%2e1",
        "%6cocalhost",
        "localhost%00",
        "127.0.0.1%00.a.test",
    ),
    *("[%3a%3a1]", "127.0.0.1%23.a.test", "127.0.0.1%40a.test", "%00127.0.0.1", "localhost%252e"),
    *("inside.test", "INSIDE.test", "inside6.test", "mixed.test", "mixed6.test", "mapped.test", "zero.test"),
]
"""Hosts that are this machine, or that some reader takes for it."""

INSIDE = [
    *(
        "10.0.0.1",
        "10.255.255.255",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "192.168.255.255",
        "100.64.0.1",
    ),
    *(
        "100.127.255.255",
        "100.100.100.200",
        "169.254.169.254",
        "169.254.170.2",
        "169.254.0.1",
        "168.63.129.16",
    ),
    *("192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1"),
    *("203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "0.1.2.3", "2852039166"),
    *(
        "0xa9fea9fe",
        "0xa9.254.0xa9.254",
        "0251.0376.0251.0376",
        "169.254.43518",
        "169.16689662",
        "425.510.425.510",
    ),
    *("169\u3002254\u3002169\u3002254", "\uff11\uff16\uff19.254.169.254", "[::ffff:169.254.169.254]"),
    *(
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[fec0::1]",
    ),
    *(
        "[fc00::1]",
        "[ff02::1]",
        "[ff0e::1]",
        "[2001:db8::1]",
        "[3fff::1]",
        "[100::1]",
        "[2001:10::1]",
        "[2001:20::1]",
    ),
    *("[2001:2::1]", "[5f00::1]", "[4000::1]", "[::ffff:10.0.0.1]", "[::10.0.0.1]", "[2002:a00:1::1]"),
    *(
        "metadata.test",
        "private.test",
        "nat64.test",
        "sixtofour.test",
        "teredo.test",
        "ula.test",
        "local.test",
    ),
    *("shared.test", "multicast.test", "broadcast.test"),
]
"""Hosts on the operator's side of the wall."""

TRICKS = [
    *(
        "http://good.test@127.0.0.1:{port}/",
        "http://good.test:80@127.0.0.1:{port}/",
        "http://@127.0.0.1:{port}/",
    ),
    *(
        "http://127.0.0.1:{port}@good.test/",
        "http://a:b@127.0.0.1:{port}/",
        "http://good.test%40127.0.0.1:{port}/",
    ),
    *(
        "http://good.test\\@127.0.0.1:{port}/",
        "http://127.0.0.1:{port}\\@good.test/",
        "http://good.test@@127.0.0.1/",
    ),
    *(
        "http:\\\\127.0.0.1:{port}/",
        "http:/\\127.0.0.1:{port}/",
        "\\\\127.0.0.1:{port}/",
        "http://\\127.0.0.1/",
    ),
    *(
        "http:127.0.0.1:{port}/",
        "http:/127.0.0.1:{port}/",
        "http:///127.0.0.1:{port}/",
        "http:////127.0.0.1/",
    ),
    *(
        "//127.0.0.1:{port}/",
        "127.0.0.1:{port}/",
        "http//127.0.0.1:{port}/",
        "://127.0.0.1:{port}/",
        "http://",
    ),
    *(
        "http:// 127.0.0.1:{port}/",
        " http://127.0.0.1:{port}/",
        "http://127.0.0.1 :{port}/",
        "http://\t127.0.0.1/",
    ),
    *(
        "http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "http://127.0.0.1\r\n:{port}/",
        "ht\ntp://127.0.0.1/",
    ),
    *("http://\u0000127.0.0.1:{port}/", "http://127.0.0.1:{port}\u2028/", "http://127.0.0.1\u00a0:{port}/"),
    *(
        "http://127.0.0.1:0{port}/",
        "http://127.0.0.1:+{port}/",
        "http://127.0.0.1:{port}a/",
        "http://127.0.0.1:0/",
    ),
    *("http://127.0.0.1:65536/", "http://127.0.0.1:-1/", "http://127.0.0.1:/", "http://127.0.0.1:{port}:80/"),
    *(
        "http://127.0.0.1:\uff18\uff10/",
        "http://127.0.0.1:0x50/",
        "http://127.0.0.1#:{port}/",
        "http://127.0.0.1?:1",
    ),
    *(
        "http://good.test#@127.0.0.1:{port}\\",
        "http://127.0.0.1:{port}#@good.test\\",
        "http://a\u2044@127.0.0.1:{port}/",
    ),
    *(
        "https://127.0.0.1:{port}/",
        "https://localhost:{port}/",
        "https://[::1]:{port}/",
        "HTTP://127.0.0.1:{port}/",
    ),
    *("hTTp://LOCALHOST:{port}/", "http://127.0.0.1:{port}?a", "http://127.0.0.1:{port}/a\\..\\b"),
    *(
        "file:///etc/passwd",
        "file://127.0.0.1/etc/passwd",
        "FILE:///etc/passwd",
        "file:/etc/passwd",
        "file:etc",
    ),
    *("ftp://127.0.0.1:{port}/", "gopher://127.0.0.1:{port}/_GET%20/", "dict://127.0.0.1:{port}/info"),
    *(
        "ldap://127.0.0.1:{port}/",
        "ldaps://127.0.0.1:{port}/",
        "tftp://127.0.0.1:{port}/x",
        "sftp://127.0.0.1:{port}/",
    ),
    *(
        "jar:http://127.0.0.1:{port}!/",
        "netdoc:///etc/passwd",
        "data:text/plain,x",
        "unix:///var/run/docker.sock",
    ),
    *("http+unix://%2Fvar%2Frun%2Fdocker.sock/", "ws://127.0.0.1:{port}/", "wss://127.0.0.1:{port}/"),
    *(
        "javascript:fetch('http://127.0.0.1:{port}')",
        "view-source:http://127.0.0.1:{port}/",
        "blob:http://127.0.0.1/",
    ),
    *(
        "feed:http://127.0.0.1:{port}/",
        "url:http://127.0.0.1:{port}/",
        "php://filter/x",
        "phar://x",
        "smb://127.0.0.1/x",
    ),
    *(
        "http://127.0.0.1:{open}/a\r\nX-Evil: 1",
        "http://127.0.0.1:{open}/a b",
        "http://127.0.0.1:{open}/\x00",
    ),
    *(
        "http://localhost.:{open}/",
        "http://u@127.0.0.1:{open}/",
        "http://127.0.0.1.:{open}/",
        "http://127.1:{open}/",
    ),
    *(
        "http://[::1]:{open}/",
        "http://[::ffff:127.0.0.1]:{open}/",
        "http://0.0.0.0:{open}/",
        "http://127.0.0.2:{open}/",
    ),
    "",
]
"""Whole URLs that are read in more than one way, or are none of the web's."""

LOCATIONS = [
    *("//127.0.0.1:{port}/", "///127.0.0.1:{port}/", "////127.0.0.1:{port}/", "/\\127.0.0.1:{port}/"),
    *(
        "\\\\127.0.0.1:{port}\\",
        "/\t/127.0.0.1:{port}/",
        "//good.test@127.0.0.1:{port}/",
        "http:127.0.0.1:{port}/",
    ),
    *(
        "https:127.0.0.1:{port}/",
        "//127.0.0.1:{port}",
        "//localhost:{port}",
        "//[::1]:{port}/",
        "//2130706433:{port}/",
    ),
    *("//127.0.0.1:{port}\\@good.test/", "//127\u30020\u30020\u30021:{port}/", "//inside.test:{port}/", "//"),
]
"""What a redirect may say without a scheme."""

ARGUMENTS = [
    *(
        "..",
        ".",
        "../..",
        "../../admin",
        "..%2f..",
        "%2e%2e",
        "%2e%2e/",
        "..;/",
        "....//",
        "..\\..",
        "/",
        "//",
        "\\",
    ),
    *(
        "@127.0.0.1:{port}/",
        "://127.0.0.1:{port}/",
        "//127.0.0.1:{port}/",
        "http://127.0.0.1:{port}/",
        "?",
        "#",
        "&b=2",
    ),
    *(
        "a?b=2",
        "a#b",
        "a&c=d",
        "a=b",
        "a;b",
        "%00",
        "\r\nX-Evil: 1",
        "%0d%0aX-Evil: 1",
        "a\r\n\r\nGET /evil",
    ),
    *(
        " HTTP/1.1\r\nHost: evil\r\n\r\n",
        "\u560d\u560aX-Evil: 1",
        "a b",
        "\t",
        "\u2028",
        "\u2025",
        "\uff0e\uff0e",
        "{a}",
    ),
    *("{b}", "{{b}}", "${b}", "%7Bb%7D", "", "a" * 5000, "a" * 9000),
]
"""Arguments that would leave their place in a URL, if it were not for the encoding."""

NAMES = {
    "inside.test": ["127.0.0.1"],
    "inside6.test": ["::1"],
    "mixed.test": ["93.184.215.14", "127.0.0.1"],
    "mixed6.test": ["2606:4700::1111", "::1", "93.184.215.14"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "zero.test": ["0.0.0.0"],
    "metadata.test": ["169.254.169.254"],
    "private.test": ["10.0.0.5"],
    "nat64.test": ["64:ff9b::7f00:1"],
    "sixtofour.test": ["2002:7f00:1::"],
    "teredo.test": ["2001:0:7f00:1::"],
    "ula.test": ["fd00:ec2::254"],
    "local.test": ["fe80::1%1"],
    "shared.test": ["100.64.0.1"],
    "multicast.test": ["224.0.0.1"],
    "broadcast.test": ["255.255.255.255"],
    "good.test": ["127.0.0.1"],
}
"""What a name server that is on the attacker's side answers."""

REBOUND = [
    "127.0.0.2",
    "::1",
    "::ffff:127.0.0.1",
    "10.0.0.1",
    "169.254.169.254",
    "0.0.0.0",
    "fd00::1",
    "64:ff9b::1",
]
"""What it answers when it is asked for the second time."""


def vectors(port: int, open_port: int) -> list[str]:
    """Every URL, each once."""
    hosts = [f"http://{host}:{{port}}/" for host in LOOPBACK] + [f"http://{host}/x" for host in INSIDE]
    filled = [fill(url, port, open_port) for url in (*hosts, *TRICKS)]
    return list(dict.fromkeys(filled))


def fill(url: str, port: int, open_port: int) -> str:
    """Put the ports in."""
    return url.replace("{port}", str(port)).replace("{open}", str(open_port))
