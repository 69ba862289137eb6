"""Results: an append-only store, statistics, the regression gate, and reports as views."""

from bench.store.records import BoardInfo, CaseResult, LatencyResult
from bench.store.statistics import Ratio, Summary, median_ratio, summarize
from bench.store.store import RunBoardId, RunId, Store

__all__ = [
    "BoardInfo",
    "CaseResult",
    "LatencyResult",
    "Ratio",
    "RunBoardId",
    "RunId",
    "Store",
    "Summary",
    "median_ratio",
    "summarize",
]
