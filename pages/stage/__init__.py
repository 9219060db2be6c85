"""One session: the state in its link, the step of a lesson, A beside B, presenting."""
