"""The preload shim: a small library inside a node's processes that changes what the C library tells them."""
