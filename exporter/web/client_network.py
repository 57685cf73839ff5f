"""Returns the network of a client address.

One client can have many addresses: a host can use each address of its IPv6 network, an attacker
often has several hosts in one IPv4 network, and a local process can use all of 127.0.0.0/8.

ipaddress of the standard library is not used: it takes ten times as long for each new connection.
"""

import socket

_LOOPBACK = "127.0.0.0/8"
_MAPPED = "::ffff:"


def network_of(address: str) -> str:
    """Returns the network: /8 of a loopback address, /24 of IPv4, /64 of IPv6.

    An IPv4 address that is mapped to IPv6 has the network of the IPv4 address. A text that is no
    address is its own network.

    address: an address of a socket, which may have a zone, such as `fe80::1%eth0`.
    """
    text = address.partition("%")[0].removeprefix(_MAPPED)
    if "." in text and ":" not in text:
        return _LOOPBACK if text.startswith("127.") else f"{text.rpartition('.')[0]}.0/24"
    if text == "::1":
        return _LOOPBACK
    try:
        packed = socket.inet_pton(socket.AF_INET6, text)
    except OSError:
        return address
    return f"{socket.inet_ntop(socket.AF_INET6, packed[:8] + bytes(8))}/64"
