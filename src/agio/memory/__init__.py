"""What agents remember: what a model is asked, and what of its answer is taken. Shared by server and library."""
