"""Routes that a role alone does not open."""

PERSON = frozenset(
    {
        "create_account",
        "change_account",
        "set_password",
        "confirm_account",
        "sign_out_everywhere",
        "switch_tenant",
        "link_identity",
        "unlink_identity",
    }
)
"""Routes for a signed-in person; API keys are refused."""
WORKERS = ("/link", "/link/heartbeat")
"""Paths that take a worker key."""
