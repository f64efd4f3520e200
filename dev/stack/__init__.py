"""Starts and stops the local Kafka and ClickHouse."""
