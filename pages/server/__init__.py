"""What all sessions share: models, recordings, turns, runs, limits."""
