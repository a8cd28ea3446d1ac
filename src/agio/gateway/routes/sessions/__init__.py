"""Sessions with their messages, files and drafts."""
