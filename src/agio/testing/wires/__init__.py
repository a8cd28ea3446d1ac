"""The vendors' wire formats from the server's side: requests checked, answers written."""
