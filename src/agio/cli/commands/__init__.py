"""The commands and their options. The work of a command is imported when it runs."""
