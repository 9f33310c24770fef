"""HTTP on a real socket, by the client that people use."""

import json
import re
import socket
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.fakes.daemon_process import DaemonProcess

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    place = tmp_path_factory.mktemp("http")
    docs = place / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nThe quokka daemon.\n")
    made = DaemonProcess([docs], place)
    made.ready()
    yield made
    made.close()


def curl(daemon, *arguments):
    """Return status and body of one call of curl."""
    command = ["curl", "-sS", "--max-time", "120", "-w", "\n%{http_code}", "--unix-socket", daemon.socket, *arguments]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


def same(reply):
    """Return what equal requests get equal: all but times, and what becomes durable behind them."""
    return {name: value for name, value in reply.items() if name not in {"took_ms", "freshness", "durable", "hits"}} | {
        "hits": [{name: value for name, value in hit.items() if name != "validated_at"} for hit in reply["hits"]]
    }


@pytest.mark.parametrize("method", ["query", "evidence"])
def test_a_question_by_its_address_gives_what_the_other_framings_give(daemon, method):
    """Result for result."""
    status, body = curl(daemon, f"http://x/{method}?q=quokka+daemon&k=3&wait_ms=20000")
    assert status == 200
    direct = daemon.call(method, text="quokka daemon", k=3)
    posted = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"text": "quokka daemon", "k": 3}})
    assert (
        same(json.loads(body))
        == same(direct)
        == same(json.loads(curl(daemon, "-d", posted, "http://x/rpc")[1])["result"])
    )
    assert direct["hits"][0]["source_path"] == "a.md"


def test_health_metrics_and_refusals(daemon):
    """The word, the text, the status of what is not there; a head has no body."""
    assert curl(daemon, "http://x/healthz") == (200, "current\n")
    status, text = curl(daemon, "http://x/metrics")
    names = {family.name for family in text_string_to_metric_families(text)}
    assert status == 200
    assert {"indexerd_generation", "indexerd_socket_connections", "process_resident_memory_bytes"} <= names
    assert curl(daemon, "http://x/nowhere")[0] == 404
    assert curl(daemon, "-X", "PUT", "http://x/query")[0] == 405
    assert curl(daemon, "http://x/query?q=x&protocol=7")[0] == 400
    assert curl(daemon, "-I", "http://x/healthz")[0] == 200


def test_one_connection_serves_several_requests(daemon):
    """It is kept, and a large body that curl announces first arrives whole."""
    done = subprocess.run(
        ["curl", "-sv", "--unix-socket", daemon.socket, "http://x/healthz", "http://x/healthz"],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert done.stdout == "current\n" * 2
    assert re.search("Re-using existing .*connection", done.stderr)
    pair = {"claim": "The quokka sleeps.", "passages": ["The quokka sleeps. " * 2000]}
    body = json.dumps({"id": 1, "method": "check", "params": {"claims": [pair]}})
    status, reply = curl(daemon, "-H", "Expect: 100-continue", "-d", body, "http://x/rpc")
    assert (status, json.loads(reply)["result"]["results"][0]["band"]) == (200, "supported")


def test_a_request_that_is_never_finished_is_told_so_and_cut_off(daemon):
    """The deadline of the other framings, in the words of this one."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(120)
        raw.connect(daemon.socket)
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost")
        said = b""
        while piece := raw.recv(4096):
            said += piece
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b"Connection: close" in said
