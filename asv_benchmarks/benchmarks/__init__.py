"""Timings of mlcore's hot loops, each beside a floor that no implementation can beat.

`time_floor_*` is that floor, `track_*` the quality of the answer that was timed.
"""
