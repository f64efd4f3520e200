"""The product tried on real services: what a fleet sends beside what ClickHouse has of it."""
