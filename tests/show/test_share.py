"""The link that is shared: how far it reaches, and the code that a camera reads."""

import socket

import pytest
import segno

from pages.server import address
from pages.show.share import LONGEST, qr_code


@pytest.mark.parametrize(
    ("seen", "host", "text", "reach"),
    [
        ("http://localhost:8501/block", None, "http://localhost:8501/block", "machine"),
        ("http://127.0.0.1:8501/", None, "http://127.0.0.1:8501/", "machine"),
        ("http://[::1]:8501/", None, "http://[::1]:8501/", "machine"),
        ("http://localhost:80/gpt", "10.0.0.7", "http://10.0.0.7:80/gpt", "network"),
        ("http://localhost/gpt", "10.0.0.7", "http://10.0.0.7/gpt", "network"),
        ("http://192.168.1.5:8501/", None, "http://192.168.1.5:8501/", "network"),
        ("http://classroom:8501/", "10.0.0.7", "http://classroom:8501/", "network"),
        ("http://mac.local/", None, "http://mac.local/", "network"),
        ("https://blocks.example.org/a", "10.0.0.7", "https://blocks.example.org/a", "anywhere"),
        ("", None, "", "network"),
    ],
)
def test_an_address_says_how_far_it_reaches(seen, host, text, reach):
    assert address.reached(seen, host) == (text, reach)


def test_a_server_for_this_machine_alone_has_no_address_in_the_network():
    assert address.in_the_network("127.0.0.1") is None


class NoTraffic(socket.socket):
    def __init__(self, *kind):
        assert kind[1] == socket.SOCK_DGRAM  # to connect one sends nothing
        super().__init__(*kind)

    def send(self, *_):
        raise AssertionError("something was sent")

    sendto = sendmsg = sendall = send


def test_the_address_in_the_network_is_found_without_traffic(monkeypatch: pytest.MonkeyPatch):
    class Reachable(NoTraffic):
        def connect(self, _where):
            pass

        def getsockname(self):
            return own, 9

    own = "192.168.1.7"
    monkeypatch.setattr(socket, "socket", Reachable)
    assert [address.in_the_network(host) for host in (None, "::", own)] == [own, own, None]
    own = "127.0.1.1"
    assert address.in_the_network(None) is None


def test_a_machine_without_a_network_has_no_address(monkeypatch: pytest.MonkeyPatch):
    class Unreachable(NoTraffic):
        def connect(self, _where):
            raise OSError

    monkeypatch.setattr(socket, "socket", Unreachable)
    assert address.in_the_network("0.0.0.0") is None


def test_the_code_is_dark_on_white_and_holds_the_longest_link():
    drawn = qr_code("x" * LONGEST)
    assert drawn.startswith("<svg") and 'fill="#fff"' in drawn and 'stroke="#000"' in drawn
    assert segno.make("x" * LONGEST, error="l").version == 25


@pytest.mark.parametrize(
    ("told", "listens_on", "headers", "is_for_one"),
    [
        ("", "localhost", {}, True),
        ("", "127.0.0.1", {}, True),
        ("", "127.0.0.1", {"X-Forwarded-For": "10.0.0.7"}, False),
        ("", "0.0.0.0", {}, False),
        ("", None, {}, False),
        ("0", "localhost", {}, False),
        ("1", "0.0.0.0", {}, True),
    ],
)
def test_a_server_for_this_machine_alone_serves_one_person(
    told, listens_on, headers, is_for_one, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BLOCKSCOPE_HUB", told)
    monkeypatch.setattr(address.st, "get_option", lambda name: listens_on)
    monkeypatch.setattr(type(address.st.context), "headers", headers)
    assert address.serves_one_person() is is_for_one
    assert address.is_alone() is (is_for_one if told == "" else listens_on == "localhost")
