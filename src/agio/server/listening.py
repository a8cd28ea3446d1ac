"""The socket of a server. It is bound before anything else, so that its errors are reported at once."""

import errno
import ipaddress
import socket

from agio.errors import UserError

_BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """Bind a socket; port 0 picks a free one. Raises UserError `port_taken`, `cannot_listen`."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise UserError("cannot_listen", f"{host!r} is no address of this machine: {error}.") from error
    family, kind, protocol, _, address = found[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise UserError(
                "port_taken",
                f"Port {port} of {host} is in use, perhaps by another agio. Stop it there, or take another port: "
                "--port 0 finds a free one.",
            ) from error
        raise UserError(
            "cannot_listen", f"Cannot listen on {host}, port {port}: {error.strerror}."
        ) from error
    sock.setblocking(False)
    return sock


def is_public(sock: socket.socket) -> bool:
    """Whether other machines can reach a socket."""
    return not ipaddress.ip_address(sock.getsockname()[0].partition("%")[0]).is_loopback


def url_of(sock: socket.socket, host: str) -> str:
    """Return the address to tell people: the host as it was named, the port that was found."""
    port = sock.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def loopback_url(sock: socket.socket) -> str:
    """Return the address under which processes of this machine reach the socket."""
    address, port = sock.getsockname()[:2]
    ip = ipaddress.ip_address(address)
    if ip.is_unspecified:
        ip = ipaddress.ip_address("::1" if ip.version == 6 else "127.0.0.1")
    return f"http://[{ip}]:{port}" if ip.version == 6 else f"http://{ip}:{port}"
