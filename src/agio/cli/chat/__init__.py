"""`agio chat`: a conversation at a terminal or a pipe, with an agent in this process or on a server."""
