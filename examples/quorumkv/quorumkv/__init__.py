"""quorumkv: a small replicated key-value store with tenants, idempotent writes and a change feed."""

__version__ = "0.4.0"
