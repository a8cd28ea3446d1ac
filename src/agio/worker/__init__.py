"""The side that runs agents: takes jobs over the link, drives them, sends what happens back."""
