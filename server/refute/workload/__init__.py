"""Drives the system: generators of operations, clients that send them, the recorder that writes them down."""

from refute.workload.client import choose_client, known_kinds, open_client
from refute.workload.directed import Sent, StepClients
from refute.workload.error import WorkloadError
from refute.workload.final_reads import FinalReading, final_reads
from refute.workload.generators import GENERATORS, generate, kinds_of
from refute.workload.load import LoadSummary, run_load
from refute.workload.recorder import Recorder
from refute.workload.request import Completion, Endpoints, OperationClient, Request
from refute.workload.routing import Route, Router
from refute.workload.trigger import OperationTrigger

__all__ = [
    "GENERATORS",
    "Completion",
    "Endpoints",
    "FinalReading",
    "LoadSummary",
    "OperationClient",
    "OperationTrigger",
    "Recorder",
    "Request",
    "Route",
    "Router",
    "Sent",
    "StepClients",
    "WorkloadError",
    "choose_client",
    "final_reads",
    "generate",
    "kinds_of",
    "known_kinds",
    "open_client",
    "run_load",
]
