"""What an insert costs the server, by its rows, its order, its compression and the table's definition."""
