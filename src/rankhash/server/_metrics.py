"""Request counters and latency histograms in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds of the latency buckets, in seconds."""


class Metrics:
    """Counts and latencies of requests by route."""

    def __init__(self) -> None:
        self.requests: defaultdict[tuple[str, int], int] = defaultdict(int)
        """Number of requests by (route, status)."""
        self.times: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.in_flight = 0

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.requests[route, status] += 1
        self.times[route][bisect_left(BUCKETS, seconds)] += 1
        self.seconds[route] += seconds


def family(name: str, kind: str, text: str, samples: Mapping[str, float]) -> Iterator[str]:
    """The lines of one metric; ``samples`` maps labels to values."""
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples.items():
        yield f"{name}{labels} {value:.10g}"


def histogram(name: str, text: str, times: dict[str, list[int]], seconds: dict[str, float]) -> Iterator[str]:
    """The lines of a latency histogram, one series per route."""
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} histogram"
    for route, counts in sorted(times.items()):
        total = 0
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
            total += count
            yield f'{name}_bucket{{route="{route}",le="{bound}"}} {total}'
        yield f'{name}_sum{{route="{route}"}} {seconds[route]:.10g}'
        yield f'{name}_count{{route="{route}"}} {total}'
