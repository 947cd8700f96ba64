"""Memory is asked for before it is taken."""

import pytest

from mlcore.runtime.memory import free_bytes, require_memory


def test_memory_is_asked_for_before_it_is_taken():
    require_memory(1000, 1000, 8, what="K", instead="nothing")
    with pytest.raises(MemoryError) as caught:
        require_memory(10**7, 10**7, 8, what="the Gram matrix", instead="use fewer rows")
    message = str(caught.value)
    assert message.startswith("the Gram matrix of 10000000 x 10000000 needs 800000000000000 bytes")
    assert message.endswith("are free: use fewer rows.")
    assert 0 < free_bytes() < 2**63
