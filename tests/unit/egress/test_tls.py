"""The guarded client over TLS: the address is pinned, the certificate is the name's."""

import asyncio
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agio.egress import Address, Egress, EgressRequest
from agio.errors import UpstreamError, UserError
from tests.support.canary import canary, redirect

SECRET = [("Authorization", "Bearer s3cret")]


async def resolve(host: str, port: int) -> Sequence[Address]:
    """Every name is loopback's."""
    return [ip_address("127.0.0.1")]


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A certificate for good.test that this machine trusts, ready to serve with."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "good.test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("good.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    both = tmp_path / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = made.public_bytes(serialization.Encoding.PEM)
    both.write_bytes(private + public)
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(public)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return context


async def test_the_certificate_must_be_the_names_not_the_addresss(certificate: ssl.SSLContext) -> None:
    """C3: a pinned address still has to prove that it is who was asked for."""
    async with canary(certificate) as bird:
        egress = Egress(["*.test"], resolve)
        response = await egress.request(EgressRequest("GET", f"https://good.test:{bird.port}/"))
        assert response.body == b"ok"
        with pytest.raises(UpstreamError) as failed:
            await egress.request(EgressRequest("GET", f"https://other.test:{bird.port}/"))
    assert failed.value.code == "upstream_unreachable"
    assert len(bird.calls) == 1


async def test_a_handshake_that_never_ends_is_given_up() -> None:
    """C3: in time, and its connection is closed."""
    hung_up = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        hung_up.set()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        with pytest.raises(UpstreamError) as failed:
            await Egress(["127.0.0.1"]).request(EgressRequest("GET", url, timeout_s=0.3))
        async with asyncio.timeout(60):
            await hung_up.wait()
    assert failed.value.code == "upstream_timeout"


async def test_a_redirect_from_tls_to_none_takes_no_secrets_along(certificate: ssl.SSLContext) -> None:
    """C3: whoever listens on the way learns nothing; an address that is not public is refused as ever."""
    async with canary(certificate) as bird, canary() as plain:
        bird.answers["/down"] = redirect(f"http://good.test:{plain.port}/")
        bird.answers["/in"] = redirect(f"http://127.0.0.1:{plain.port}/in")
        egress = Egress(["*.test"], resolve)
        await egress.request(EgressRequest("GET", f"https://good.test:{bird.port}/down", SECRET))
        with pytest.raises(UserError) as refused:
            await egress.request(EgressRequest("GET", f"https://good.test:{bird.port}/in", SECRET))
    assert bird.calls[0].headers["authorization"] == "Bearer s3cret"
    assert [call.target for call in plain.calls] == ["/"]
    assert "authorization" not in plain.last.headers
    assert refused.value.code == "egress_refused"
