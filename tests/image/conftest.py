import bcrypt
import pytest


@pytest.fixture(scope="session")
def hashed_password() -> str:
    """bcrypt hash of an arbitrary password."""
    return bcrypt.hashpw(b"swordfish", bcrypt.gensalt(4)).decode()
