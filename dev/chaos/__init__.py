"""Proves on real parts that nothing is lost and nothing doubled, whatever is killed."""
