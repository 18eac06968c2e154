"""The service behind nginx, with the block of docs/service.md: TLS, answers of one length, no metrics outside."""

import contextlib
import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest
import served
import tls

from dperm import Client
from dperm.errors import ServiceError

ROOT = Path(__file__).parents[3]
# What holds a block of the docs, so that it runs in a folder of its own.
AROUND = """daemon off; pid {folder}/pid; error_log {folder}/error.log; {user}
events {{}}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi; gzip on; gzip_types application/json;
{block}
}}
"""


def block(changes):
    """The block of the docs, with each of these words, which it has once, replaced."""
    (found,) = re.findall(r"```nginx\n(.*?)```", (ROOT / "docs" / "service.md").read_text(encoding="utf-8"), re.DOTALL)
    for word, new in changes.items():
        assert found.count(word) == 1, word
        found = found.replace(word, str(new))
    return found


@contextlib.contextmanager
def proxied(folder, url):
    """Run nginx before a server; give the address outside and the certificate to trust."""
    certificate, key = tls.certificate(folder)
    outside = tls.port()
    changes = {
        "listen 443 ssl": f"listen 127.0.0.1:{outside} ssl", "predictions.example.org": "localhost",
        "/etc/ssl/predictions.pem": certificate, "/etc/ssl/private/predictions.key": key,
        "http://127.0.0.1:8080": url,
    }  # fmt: skip
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "conf").write_text(AROUND.format(folder=folder, user=user, block=block(changes)), encoding="utf-8")
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    with subprocess.Popen([nginx, "-p", folder, "-c", folder / "conf"], stderr=subprocess.PIPE, text=True) as process:
        try:
            end = time.monotonic() + 60
            while not (folder / "pid").exists():
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() < end, "nginx does not start"
                time.sleep(0.02)
            yield outside, certificate
        finally:
            process.terminate()


@pytest.fixture
def nginx():
    if not (shutil.which("nginx") or Path("/usr/sbin/nginx").exists()):
        if os.environ.get("DPERM_NEED_NGINX"):
            pytest.fail("DPERM_NEED_NGINX is set and there is no nginx here: apt install nginx")
        pytest.skip("no nginx on this machine")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the server is for Linux")
def test_the_proxy_of_the_docs(tmp_path, nginx):
    file, ledger = served.packed(tmp_path, "StableERM"), f"sqlite:///{tmp_path / 'ledger'}"
    key = served.key(served.service(file, ledger), share=10)
    process, url = served.started(file, ledger, "--workers", "1")
    try:
        with proxied(tmp_path / "nginx", url) as (port, certificate):
            outside, rows = f"https://localhost:{port}", [[0.1, 0.2], [-0.3, 0.1]]
            first = Client(outside, key, certificates=str(certificate)).predict_details(rows)
            assert first["charged"] == 2
            # The same ledger, whichever way one comes.
            assert Client(url, key).predict_details(rows) == first | {"charged": 0, "repeated": 2}
            with pytest.raises(ServiceError, match="does not prove who it is"):
                Client(outside, key, retries=0).predict(rows)
            context = ssl.create_default_context(cafile=certificate)
            connection = http.client.HTTPSConnection("localhost", port, context=context, timeout=30)

            def asked(path, body=None):
                headers = {"Authorization": f"Bearer {key}", "Accept-Encoding": "gzip"}
                connection.request("GET" if body is None else "POST", path, body, headers)
                answer = connection.getresponse()
                return answer, answer.read()

            assert asked("/metrics")[0].status == 403 and asked("/v1/health")[0].status == 200
            # One length for each number of rows, though the proxy compresses elsewhere, and whoever asks may.
            answers = [asked("/v1/predict", json.dumps({"rows": [row]})) for row in ([0.5, 0.5], [-0.5, -0.1], rows[0])]
            assert {answer.status for answer, _ in answers} == {200}
            assert {answer.headers["Content-Encoding"] for answer, _ in answers} == {None}
            assert len({len(body) for _, body in answers}) == 1
            connection.close()
        assert key not in (tmp_path / "nginx" / "error.log").read_text(encoding="utf-8")
    finally:
        process.kill()
        process.communicate()
