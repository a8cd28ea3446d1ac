"""Tools that come with agio."""
