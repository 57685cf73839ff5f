import bcrypt
import pytest


@pytest.fixture(scope="session")
def hashed_password() -> str:
    """The bcrypt hash of a password that nobody is asked for."""
    return bcrypt.hashpw(b"swordfish", bcrypt.gensalt(4)).decode()
