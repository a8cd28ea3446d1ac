"""What a run is: its request, its admission, its log folded to messages and state, its end, its cost."""
