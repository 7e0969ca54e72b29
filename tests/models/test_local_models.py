"""What models on this machine share."""

import pytest

from target_bench.models.local_models import is_out_of_memory


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), True),
        (MemoryError(), True),
        (RuntimeError("shapes do not match"), False),
    ],
)
def test_full_memory_is_known_by_what_is_said(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) is expected
