"""`python -m quorumkv`: run one node."""

from __future__ import annotations

import asyncio
import logging
import sys

from .config import read_config
from .disk import DiskError
from .server import serve
from .tenants import TenantError


def main() -> int:
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO, stream=sys.stderr)
    try:
        config = read_config()
    except (ValueError, TenantError) as error:
        print(f"quorumkv: {error}", file=sys.stderr)
        return 2
    try:
        asyncio.run(serve(config))
    except (DiskError, OSError) as error:
        print(f"quorumkv: {error}", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
