"""The order in which passwords are checked."""

from exporter.web.password_record import PasswordRecord


def test_an_address_whose_last_password_was_wrong_comes_last() -> None:
    record = PasswordRecord()
    assert 0 == record.rank("192.0.2.1", "192.0.2.0/24")
    record.add("192.0.2.1", "192.0.2.0/24", is_right=False)
    assert 2 == record.rank("192.0.2.1", "192.0.2.0/24")
    record.add("192.0.2.1", "192.0.2.0/24", is_right=True)
    assert 0 == record.rank("192.0.2.1", "192.0.2.0/24")


def test_a_new_address_comes_later_if_a_wrong_password_came_from_its_network() -> None:
    """An attacker with many addresses has one network or a few."""
    record = PasswordRecord()
    record.add("192.0.2.1", "192.0.2.0/24", is_right=False)
    assert 1 == record.rank("192.0.2.2", "192.0.2.0/24")
    assert 0 == record.rank("198.51.100.1", "198.51.100.0/24")
    record.add("192.0.2.3", "192.0.2.0/24", is_right=True)
    assert 1 == record.rank("192.0.2.2", "192.0.2.0/24")
    assert 0 == record.rank("192.0.2.3", "192.0.2.0/24")


def test_the_number_of_remembered_addresses_is_limited() -> None:
    record = PasswordRecord()
    for n in range(1025):
        record.add(f"2001:db8::{n:x}", f"2001:db8:{n:x}::/64", is_right=False)
    assert 0 == record.rank("2001:db8::0", "2001:db8:0::/64")
    assert 2 == record.rank("2001:db8::1", "2001:db8:1::/64")
    record.add("2001:db8::1", "2001:db8:1::/64", is_right=False)
    record.add("192.0.2.1", "192.0.2.0/24", is_right=False)
    assert 2 == record.rank("2001:db8::1", "2001:db8:1::/64")
    assert 0 == record.rank("2001:db8::2", "2001:db8:2::/64")
