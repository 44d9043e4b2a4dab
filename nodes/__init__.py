"""The nodes that ship with Minibrains, one package per domain."""
