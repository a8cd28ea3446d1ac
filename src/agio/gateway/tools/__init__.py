"""Tools as the gateway runs them: which there are, which an agent has, calls and approvals."""
