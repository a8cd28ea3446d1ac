"""The model of a run: request, admission, the fold of its log into messages and state, end, and cost."""
