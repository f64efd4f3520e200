"""`make latency`: how long a row takes from its Kafka timestamp until it can be read, and how much goes through."""
