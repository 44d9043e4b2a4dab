"""The policy doctor: what is wrong with a policy that plays badly, found by statistical tests."""
