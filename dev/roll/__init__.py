"""`make roll`: three processes restarted one after the other over a live topic."""
