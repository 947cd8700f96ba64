"""What the bookkeeping about threads costs each call, against doing nothing at all."""

from contextlib import nullcontext

from mlcore.runtime.threads import effective_threads, single_threaded_blas


class Bookkeeping:
    def setup(self):
        with single_threaded_blas():  # the first use looks for the libraries
            effective_threads()

    def time_effective_threads(self):
        effective_threads()

    def time_single_threaded_blas(self):
        with single_threaded_blas():
            pass

    def time_floor_nothing(self):
        with nullcontext():
            pass

    def track_threads(self):
        return effective_threads()
