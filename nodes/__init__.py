"""Every node that ships with Minibrains, a file a family."""
