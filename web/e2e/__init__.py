"""The pages in a real browser, against a real server with a real store and the model server of `agio.testing`."""
