"""GAM: abstracts of sessions, researched anew for every question."""
