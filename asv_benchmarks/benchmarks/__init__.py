"""Timings of mlcore's hot loops, each beside a floor that no implementation can beat.

`time_floor_*` is that floor, other times beside `mlcore`'s are what it replaces, and `track_*` is
the quality of the answer that was timed.
"""
