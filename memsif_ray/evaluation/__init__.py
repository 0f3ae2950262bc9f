"""How answers are scored: the online order of questions, the judge, and the metrics that need none."""
