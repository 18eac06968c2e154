"""dperm.Client against a server that says what the test wants, and the errors that a user sees."""

import json
import pickle
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
import together

from dperm import Client
from dperm.errors import BudgetExhausted, DataError, ServiceError

ANSWER = {"answers": [1, 0], "charged": 1, "repeated": 1, "remaining": 8}


class Handler(BaseHTTPRequestHandler):
    """Answers with what stands next in the server's list; `None` hangs up without a word."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        self.server.asked.append((self.path, dict(self.headers), self.rfile.read(length)))
        status, body, headers = self.server.says.pop(0)
        if status is None:
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *words):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.says, server.daemon_threads = [], [], True
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def says(server, *answers):
    """Let the server say these: (status, body) or (status, body, headers)."""
    server.says = [(status, json.dumps(body).encode(), *(more or [{}])) for status, body, *more in answers]


def test_a_batch_is_asked_once_with_key_and_idempotency_key(server):
    says(server, (200, ANSWER), (200, ANSWER))
    client = Client(server.url + "/", "dperm_abc")
    assert client.predict(np.array([[0.5, 1.0], [0.0, 2.0]])).tolist() == [1, 0]
    assert client.predict_details([[1, 2], [3, 4]]) == ANSWER
    (path, headers, body), (_, others, _) = server.asked
    assert (path, headers["Authorization"], headers["Content-Type"]) == (
        "/v1/predict", "Bearer dperm_abc", "application/json"
    )  # fmt: skip
    assert json.loads(body) == {"rows": [[0.5, 1.0], [0.0, 2.0]]}
    assert len(headers["Idempotency-Key"]) == 32 and headers["Idempotency-Key"] != others["Idempotency-Key"]


def test_another_process_may_have_it(server):
    client = Client(server.url, "dperm_key", timeout=7.0, retries=1)
    for url in (server.url, "https://predictions.example.org"):
        assert repr(pickle.loads(pickle.dumps(Client(url, "dperm_key")))) == f"Client('{url}')"
    says(server, (200, ANSWER))
    client.predict([[0.0]])  # it has a connection of its own now
    again = pickle.loads(pickle.dumps(client))
    says(server, (503, {}), (200, ANSWER))
    assert again.predict([[0.0]]).tolist() == [1, 0] and (again.timeout, again.retries) == (7.0, 1)
    assert server.asked[-1][1]["Authorization"] == "Bearer dperm_key"


def test_records_go_by_the_names_of_their_columns(server):
    frame = pd.DataFrame({"age": [31, 64], "sector": ["public", "none"]})
    says(server, (200, ANSWER), (200, ANSWER))
    client = Client(server.url, "k")
    client.predict(frame)
    client.predict([{"age": np.int64(31), "sector": "public"}, {"age": 64, "sector": "none"}])
    first, second = (json.loads(body) for _, _, body in server.asked)
    assert first == second == {"records": [{"age": 31, "sector": "public"}, {"age": 64, "sector": "none"}]}


def test_what_is_lost_on_the_way_is_sent_again_with_the_same_key(server):
    limited = (429, {"title": "slower"}, {"Retry-After": "0"})
    says(
        server,
        (200, {"share": 1}),
        (None, {}),
        (503, {"detail": "the ledger cannot be written"}),
        limited,
        (200, ANSWER),
    )
    client = Client(server.url, "k")
    assert client.budget() == {"share": 1}
    assert client.predict([[1.0], [2.0]]).tolist() == [1, 0]
    tried = server.asked[1:]
    assert len(tried) == 4 and len({(headers["Idempotency-Key"], body) for _, headers, body in tried}) == 1


@together.over(
    ("status", "error"),
    [(401, ServiceError), (403, BudgetExhausted), (409, DataError), (413, DataError), (422, DataError),
     (500, ServiceError)],
)  # fmt: skip
def test_a_refusal_is_dperms_own_error_and_is_not_sent_again(server, status, error):
    says(server, (status, {"title": "no", "detail": "what is wrong"}))
    with pytest.raises(error, match="what is wrong") as raised:
        Client(server.url, "k").predict([[1.0]])
    assert server.says == [] and getattr(raised.value, "status", status) == status


def test_who_never_answers_is_named(server):
    says(server, *[(503, {"detail": "the disk is full"})] * 2)
    with pytest.raises(ServiceError, match=r"the disk is full \(status 503\)"):
        Client(server.url, "k", retries=1).predict([[1.0]])
    server.says = [(200, b"<html>", {})]
    with pytest.raises(ServiceError, match="no JSON"):
        Client(server.url, "k").statement()
    with pytest.raises(ServiceError, match=r"does not answer .*the same rows are free"):
        Client("http://127.0.0.1:9", "k", retries=0).schema()


@together.over(
    ("url", "key", "words"),
    [
        ("http://example.org", "k", "unencrypted"),
        ("ftp://example.org", "k", "http"),
        ("https://user@example.org", "k", "without a user"),
        ("https://example.org/?q=1", "k", "query"),
        ("http://localhost:1", "a\nb", "API key"),
        ("http://localhost:1", "", "API key"),
        ("http://localhost:1", 5, "API key"),
        ("http://localhost:abc", "k", r"url='http://localhost:abc'.*[Pp]ort"),
        (5, "k", "url='5' must be"),
    ],
)
def test_a_wrong_address_or_key_is_refused_before_anything_is_sent(url, key, words):
    with pytest.raises(ValueError, match=words):
        Client(url, key)
    assert "secret" not in repr(Client("https://example.org", "secret"))


@together.over(
    ("how", "words"),
    [
        ({"retries": -1}, r"retries=-1 must be an integer, 0 or above"),
        ({"retries": 1.5}, r"retries=1\.5 must be"),
        ({"timeout": 0}, r"timeout=0 must be a number above 0"),
        ({"timeout": "5"}, r"timeout='5' must be"),
        ({"certificates": "/no/such.pem"}, r"certificates='/no/such\.pem' is no file"),
    ],
)
def test_what_a_client_cannot_take_is_named(how, words):
    with pytest.raises(ValueError, match=words):
        Client("https://predictions.example.org", "k", **how)


@together.over(
    ("X", "words"),
    [
        ([1.0, 2.0], "2: a row for each query"),
        ([[1.0], [np.nan]], "row 1 of X"),
        ([["a", "b"]], "must be numbers"),
        ([{"age": float("nan")}], "NaN"),
        ([{"age": b"x"}], "a bytes"),
    ],
)
def test_what_cannot_be_a_query_is_refused_here(X, words):
    with pytest.raises(DataError, match=words):
        Client("http://127.0.0.1:9", "k").predict(X)
