"""`make flat`: costs that must stay flat, each as a ratio within one run."""
