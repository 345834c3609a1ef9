counters --nonsense
