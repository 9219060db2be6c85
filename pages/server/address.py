"""Where this page is reached from: this machine alone, the local network, or anywhere."""

import ipaddress
import socket
from pathlib import PureWindowsPath
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.server import settings
from pages.words.language import _

EVERYWHERE = (None, "", "0.0.0.0", "::")
FORWARDED = ("X-Forwarded-For", "Forwarded")  # what a proxy adds
NO_ONE = "192.0.2.1"  # an address that no machine has (RFC 5737): nothing is sent to it


class Address(NamedTuple):
    """The address of a page without what it is asked for, and how far it reaches."""

    text: str
    reach: str  # "machine", "network" or "anywhere"


def of_this_page() -> Address:
    """That of the browser, or the one in the local network where the browser's says nothing."""
    address = (st.context.url or "").partition("?")[0]
    return reached(address, in_the_network(st.get_option("server.address")))


def serves_one_person() -> bool:
    """Whether whoever reads may fetch from the hub and open what programs keep on this machine.

    `BLOCKSCOPE_HUB` says so, 1 or 0; else where this serves nobody but this machine.
    """
    told = settings.hub()
    return told == "1" if told else is_alone()


def is_alone() -> bool:
    """Whether nobody but this machine is listened to, and no proxy hands on what others ask."""
    listens_on = st.get_option("server.address")
    is_here = listens_on not in EVERYWHERE and _is_this_machine(listens_on)
    return is_here and not any(name in st.context.headers for name in FORWARDED)


def page_here() -> str:
    """The name of the page that runs: that of its file, without the ending; empty in no page."""
    context = get_script_run_ctx()
    if context is None:
        return ""
    pages: dict[str, Any] = {**context.pages_manager.get_pages()}
    found = pages.get(context.page_script_hash, {})
    return PureWindowsPath(str(found.get("script_path", ""))).stem


def way_on_this_machine(link: str) -> str:
    """What is to be opened, where a link leads nowhere from any other machine; else nothing."""
    if reached(link, None).reach != "machine":
        return ""
    path = urlsplit(link)._replace(scheme="", netloc="").geturl()
    return _("Add to the address of your Blockscope: {path}").format(path=path)


def reached(address: str, host: str | None) -> Address:
    """How far an address reaches; `host` is this machine in the local network, if it listens."""
    parts = urlsplit(address)
    if not _is_this_machine(parts.hostname or ""):
        return Address(address, "network" if _is_local(parts.hostname or "") else "anywhere")
    if host is None:
        return Address(address, "machine")
    return Address(_with_host(parts, host), "network")


def in_the_network(listens_on: str | None) -> str | None:
    """The address under which other machines reach this one; None where it does not listen.

    A datagram socket that is connected has an address of its own: nothing is sent for that.
    """
    if listens_on not in EVERYWHERE:
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as looking:
        try:
            looking.connect((NO_ONE, 9))
        except OSError:
            return None
        found = looking.getsockname()[0]
    return None if _is_this_machine(found) else found


def _with_host(parts: SplitResult, host: str) -> str:
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=f"{host}{port}").geturl()


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    found = _number(host)
    return found is not None and (found.is_loopback or found.is_unspecified)


def _is_local(host: str) -> bool:
    """A number of a private network, or a name that only such a network knows."""
    found = _number(host)
    if found is not None:
        return not found.is_global
    return "." not in host or host.endswith((".local", ".lan", ".internal"))


def _number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
