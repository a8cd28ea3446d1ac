"""ROUTES: every REST route, with its response, error codes and access."""

from collections.abc import Sequence

from agio.gateway.http.route import Route
from agio.gateway.routes import jobs, observability, protected_resource, system
from agio.gateway.routes.agents import agents, assignments
from agio.gateway.routes.agents import views as agent_views
from agio.gateway.routes.mcp import connections as mcp_connections
from agio.gateway.routes.mcp import servers as mcp_servers
from agio.gateway.routes.mcp import tools as mcp_tools
from agio.gateway.routes.mcp import views as mcp_views
from agio.gateway.routes.memories import memories, suggestions
from agio.gateway.routes.memories import views as memory_views
from agio.gateway.routes.people import (
    account,
    api_keys,
    audit,
    invitations,
    key_views,
    oidc,
    profile,
    sign_in,
    team,
)
from agio.gateway.routes.providers import address, providers
from agio.gateway.routes.providers import views as provider_views
from agio.gateway.routes.runs import agent_run, definition, log, outcome, runs
from agio.gateway.routes.runs import views as run_views
from agio.gateway.routes.sessions import drafts, files, messages, regeneration, sdk_sessions, sessions
from agio.gateway.routes.sessions import views as session_views
from agio.gateway.routes.tools import agent_tools, calls, tools
from agio.gateway.routes.tools import views as tool_views
from agio.gateway.workers.provider_test import ConnectionTest

# fmt: off
ROUTES: Sequence[Route] = [
    Route("POST", "/api/agent-sessions/{session_id}/message", messages.send_message, 202, session_views.Sent,
          "session_not_found agent_inactive session_busy idempotency_conflict empty_message message_too_large "
          "file_not_found egress_refused too_many_sessions queue_full parent_not_found parent_not_ended parent_pending "
          "message_not_found"),
    Route("GET", "/api/agent-sessions/{session_id}", sessions.get_session, 200, session_views.SessionWithMessages,
          "session_not_found run_not_found invalid_cursor"),
    Route("GET", "/api/agent-sessions/{session_id}/status", sessions.session_status, 200, session_views.SessionStatus,
          "session_not_found"),
    Route("POST", "/api/agent-sessions/{session_id}/cancel", messages.cancel_session, 202, session_views.Cancelled,
          "session_not_found"),
    Route("GET", "/api/agent-sessions/{session_id}/interrupts", sessions.list_interrupts, 200, session_views.Interrupts,
          "session_not_found"),
    Route("POST", "/api/agent-sessions/{session_id}/answer", messages.answer_interrupts, 202, session_views.Sent,
          "session_not_found agent_inactive unknown_interrupt interrupt_closed incomplete_answer invalid_answer "
          "idempotency_conflict too_many_sessions queue_full"),
    Route("POST", "/api/agent-sessions/{session_id}/tool-results", messages.send_tool_results, 202, session_views.Sent,
          "session_not_found agent_inactive unknown_tool_call idempotency_conflict message_too_large "
          "egress_refused too_many_sessions queue_full"),
    Route("GET", "/api/agent-sessions/{session_id}/events", log.session_events, 200, log.NDJSON,
          "session_not_found"),
    Route("PATCH", "/api/agent-sessions/{session_id}", sessions.change_session, 200, session_views.SessionView,
          "session_not_found run_not_found session_busy"),
    Route("DELETE", "/api/agent-sessions/{session_id}", sessions.delete_session, 204, None,
          "session_not_found"),
    Route("POST", "/api/agent-sessions/{session_id}/fork", sessions.fork_session, 201, session_views.SessionView,
          "session_not_found message_not_found session_busy agent_inactive session_too_large session_deleted "
          "idempotency_conflict too_many_forks rate_limited"),
    Route("GET", "/api/agent-sessions", sessions.list_sessions, 200, session_views.Sessions, "invalid_cursor"),
    Route("GET", "/api/agents/{agent_id}/sessions", sessions.list_agent_sessions, 200, session_views.Sessions,
          "agent_not_found invalid_cursor"),
    Route("POST", "/api/agents/{agent_id}/sessions", sessions.start_session, 201, session_views.SessionView,
          "agent_not_found agent_inactive"),

    Route("GET", "/api/agents", agents.list_agents, 200, agent_views.Agents, "invalid_cursor"),
    Route("POST", "/api/agents", agents.create_agent, 201, agent_views.AgentView,
          "agent_exists invalid_handoff unknown_provider unknown_tool invalid_schema", needs="build"),
    Route("GET", "/api/agents/{agent_id}", agents.get_agent, 200, agent_views.AgentView, "agent_not_found"),
    Route("PUT", "/api/agents/{agent_id}", agents.replace_agent, 200, agent_views.AgentView,
          "agent_not_found agent_exists invalid_handoff agent_read_only changed_elsewhere unknown_provider "
          "unknown_tool invalid_schema", needs="build"),
    Route("DELETE", "/api/agents/{agent_id}", agents.delete_agent, 204, None,
          "agent_not_found agent_read_only", needs="build"),

    Route("POST", "/api/agent/run", agent_run.run_agent_once, 200, outcome.RunOutcome,
          "agent_not_found agent_inactive session_not_found session_deleted idempotency_conflict empty_message "
          "message_too_large file_not_found egress_refused too_many_sessions queue_full not_ready", waits=True),
    Route("POST", "/api/sdk/session/create", sdk_sessions.create_sdk_session, 200, sdk_sessions.SdkSession,
          "empty_input agent_inactive invalid_model session_deleted forbidden"),
    Route("POST", "/api/sdk/session/message", sdk_sessions.send_sdk_message, 200, sdk_sessions.SdkAnswer,
          "empty_input session_not_found agent_inactive invalid_model empty_message message_too_large file_not_found "
          "egress_refused too_many_sessions queue_full not_ready forbidden", waits=True, streams=True),
    Route("GET", "/api/sdk/session/transcript", sdk_sessions.sdk_transcript, 200, sdk_sessions.SdkTranscript,
          "session_not_found"),

    Route("POST", "/api/files", files.upload_file, 201, files.FileView,
          "session_not_found file_too_large empty_file too_many_files invalid_body rate_limited",
          takes=files.UPLOAD_BODY),
    Route("GET", "/api/files/{file_id}", files.get_file, 200, files.FileView, "file_not_found"),
    Route("GET", "/api/files/{file_id}/content", files.download_file, 200, "*/*",
          "file_not_found"),
    Route("DELETE", "/api/files/{file_id}", files.delete_file, 204, None, "file_not_found"),

    Route("GET", "/api/providers", providers.list_providers, 200, provider_views.Providers),
    Route("POST", "/api/providers", providers.create_provider, 201, provider_views.ProviderView,
          "provider_exists missing_provider_key invalid_base_url egress_refused no_secret_key", needs="build"),
    Route("POST", "/api/providers/test", providers.try_connection, 200, ConnectionTest,
          "missing_provider_key invalid_base_url egress_refused rate_limited", needs="build"),
    Route("POST", "/api/providers/address", address.check_address, 200, address.AddressCheck,
          "invalid_base_url rate_limited", needs="build"),
    Route("GET", "/api/providers/{provider_id}", providers.get_provider, 200, provider_views.ProviderView,
          "provider_not_found"),
    Route("PUT", "/api/providers/{provider_id}", providers.replace_provider, 200, provider_views.ProviderView,
          "provider_not_found provider_exists changed_elsewhere missing_provider_key api_key_required invalid_base_url "
          "egress_refused no_secret_key", needs="build"),
    Route("DELETE", "/api/providers/{provider_id}", providers.delete_provider, 204, None,
          "provider_not_found", needs="build"),
    Route("POST", "/api/providers/{provider_id}/test", providers.try_provider, 200, ConnectionTest,
          "provider_not_found secret_unreadable no_secret_key rate_limited", needs="build"),

    Route("GET", "/api/runs", runs.list_runs, 200, run_views.Runs, "invalid_cursor forbidden"),
    Route("GET", "/api/runs/{run_id}", runs.get_run, 200, run_views.RunView, "run_not_found"),
    Route("GET", "/api/runs/{run_id}/events", log.run_events, 200, log.NDJSON, "run_not_found"),
    Route("GET", "/api/runs/{run_id}/tools", runs.list_run_tools, 200, run_views.ToolExecutions,
          "run_not_found invalid_cursor"),
    Route("GET", "/api/runs/{run_id}/definition", definition.run_definition, 200, definition.RunDefinition,
          "run_not_found"),
    Route("GET", "/api/runs/{run_id}/trace", observability.run_trace, 200, observability.RunTrace,
          "run_not_found"),
    Route("POST", "/api/runs/{run_id}/regenerate", regeneration.regenerate_run, 202, session_views.Sent,
          "run_not_found session_busy parent_pending parent_not_ended idempotency_conflict agent_inactive "
          "agent_not_found unknown_provider unknown_tool forbidden too_many_sessions queue_full rate_limited"),
    Route("POST", "/api/runs/{run_id}/cancel", messages.cancel_run, 202, session_views.Cancelled, "run_not_found"),

    Route("GET", "/api/me", account.me, 200, account.Me),
    Route("GET", "/api/account", account.get_account, 200, account.AccountView, "account_not_found"),
    Route("POST", "/api/account", account.create_account, 201, account.AccountView,
          "account_exists email_taken invalid_email weak_password"),
    Route("PATCH", "/api/account", account.change_account, 200, account.AccountView,
          "account_not_found email_taken invalid_email", fresh=True),
    Route("POST", "/api/account/password", account.set_password, 204, None,
          "account_not_found weak_password", fresh=True),
    Route("POST", "/api/account/confirm", account.confirm_account, 204, None,
          "account_not_found wrong_credentials"),
    Route("POST", "/api/account/sign-out-everywhere", account.sign_out_everywhere, 204, None),
    Route("GET", "/api/api-keys", api_keys.list_keys, 200, key_views.Keys),
    Route("POST", "/api/api-keys", api_keys.create_key, 201, key_views.NewKey, fresh=True),
    Route("DELETE", "/api/api-keys/{key_id}", api_keys.revoke_key, 204, None, "key_not_found"),

    Route("GET", "/api/tenants", team.list_tenants, 200, team.Teams),
    Route("POST", "/api/tenants", team.create_tenant, 201, team.TeamView, needs="own", fresh=True),
    Route("POST", "/api/tenants/switch", team.switch_tenant, 200, team.TeamView, "tenant_not_found"),
    Route("GET", "/api/tenant", team.get_tenant, 200, team.TenantView),
    Route("PATCH", "/api/tenant", team.change_tenant, 200, team.TenantView, needs="manage"),
    Route("GET", "/api/members", team.list_members, 200, team.Members, needs="manage"),
    Route("PATCH", "/api/members/{user}", team.change_member, 200, team.MemberView,
          "user_not_found last_owner", needs="manage", fresh=True),
    Route("DELETE", "/api/members/{user}", team.remove_member, 204, None,
          "user_not_found last_owner", needs="manage", fresh=True),
    Route("POST", "/api/members/{user}/sign-in-link", team.create_sign_in_link, 201, team.NewSignInLink,
          "user_not_found member_elsewhere", needs="own", fresh=True),
    Route("GET", "/api/invitations", invitations.list_invitations, 200, invitations.Invitations, needs="manage"),
    Route("POST", "/api/invitations", invitations.create_invitation, 201, invitations.NewInvitation,
          "invalid_email", needs="manage", fresh=True),
    Route("GET", "/api/invitations/open", invitations.open_invitation, 200, invitations.InvitationOffer,
          "invitation_not_found rate_limited", access="public"),
    Route("POST", "/api/invitations/accept", invitations.accept_invitation, 200, team.TeamView,
          "invitation_not_found invitation_not_yours already_member email_taken invalid_email weak_password "
          "unauthenticated forbidden_origin rate_limited", access="public"),
    Route("DELETE", "/api/invitations/{invitation_id}", invitations.revoke_invitation, 204, None,
          "invitation_not_found", needs="manage"),

    Route("GET", "/api/observability", observability.get_observability, 200, observability.Observability,
          needs="build"),
    Route("PATCH", "/api/observability", observability.change_observability, 200, observability.Observability,
          needs="manage"),
    Route("POST", "/api/observability/test", observability.try_trace_service, 200, observability.TraceTest,
          "trace_service_not_found rate_limited", needs="build"),

    Route("GET", "/api/audit", audit.list_audit, 200, audit.AuditEntries, "invalid_cursor", needs="own"),
    Route("GET", "/api/jobs", jobs.list_jobs, 200, jobs.Jobs, "invalid_cursor", needs="own"),
    Route("POST", "/api/jobs/{job_id}/retry", jobs.retry_job, 200, jobs.JobView, "job_not_found job_not_dead",
          needs="own"),
    Route("GET", "/api/tools", tools.list_tools, 200, tool_views.Tools),
    Route("POST", "/api/tools/execute", calls.execute_tool, 200, tool_views.ToolResult,
          "tool_not_found tool_not_runnable approval_required session_not_found idempotency_conflict rate_limited "
          "forbidden"),
    Route("GET", "/api/agent-tools", agent_tools.list_agent_tools, 200, tool_views.AgentTools),
    Route("POST", "/api/agent-tools", agent_tools.create_agent_tool, 201, tool_views.AgentToolDetails,
          "tool_exists too_many_tools invalid_tool invalid_schema egress_refused secret_required "
          "no_secret_key", needs="build"),
    Route("GET", "/api/agent-tools/{tool_id}", agent_tools.get_agent_tool, 200, tool_views.AgentToolDetails,
          "tool_not_found"),
    Route("PUT", "/api/agent-tools/{tool_id}", agent_tools.replace_agent_tool, 200, tool_views.AgentToolDetails,
          "tool_not_found tool_exists tool_read_only changed_elsewhere invalid_tool invalid_schema egress_refused "
          "secret_required no_secret_key",
          needs="build"),
    Route("DELETE", "/api/agent-tools/{tool_id}", agent_tools.delete_agent_tool, 204, None,
          "tool_not_found tool_read_only", needs="build"),
    Route("POST", "/api/agent-tools/{tool_id}/test", calls.try_agent_tool, 200, tool_views.ToolTrial,
          "tool_not_found tool_not_runnable rate_limited", needs="build"),
    Route("GET", "/api/agents/{agent_id}/tools", assignments.list_assigned_tools, 200, assignments.AssignedTools,
          "agent_not_found"),
    Route("PUT", "/api/agents/{agent_id}/tools/{name}", assignments.assign_tool, 200, assignments.AssignedTool,
          "agent_not_found agent_read_only tool_not_found", needs="build"),
    Route("DELETE", "/api/agents/{agent_id}/tools/{name}", assignments.unassign_tool, 204, None,
          "agent_not_found agent_read_only tool_not_assigned", needs="build"),

    Route("GET", "/api/mcp-servers", mcp_servers.list_mcp_servers, 200, mcp_views.McpServerList),
    Route("POST", "/api/mcp-servers", mcp_servers.create_mcp_server, 201, mcp_views.McpServerDetails,
          "mcp_server_exists too_many_mcp_servers invalid_tool egress_refused secret_required no_secret_key",
          needs="build"),
    Route("POST", "/api/mcp-servers/test", mcp_servers.test_mcp_server, 200, mcp_views.McpCheck,
          "invalid_tool egress_refused rate_limited too_many_connections", needs="build"),
    Route("GET", "/api/mcp-servers/{server_id}", mcp_servers.get_mcp_server, 200, mcp_views.McpServerDetails,
          "mcp_server_not_found mcp_server_exists too_many_mcp_servers"),
    Route("PUT", "/api/mcp-servers/{server_id}", mcp_servers.replace_mcp_server, 200, mcp_views.McpServerDetails,
          "mcp_server_not_found mcp_server_exists mcp_server_read_only changed_elsewhere invalid_tool egress_refused "
          "secret_required no_secret_key too_many_mcp_servers", needs="build"),
    Route("DELETE", "/api/mcp-servers/{server_id}", mcp_servers.delete_mcp_server, 204, None,
          "mcp_server_not_found mcp_server_read_only mcp_server_exists too_many_mcp_servers", needs="build"),
    Route("POST", "/api/mcp-servers/{server_id}/check", mcp_servers.check_mcp_server, 200, mcp_views.McpCheck,
          "mcp_server_not_found mcp_server_exists too_many_mcp_servers rate_limited too_many_connections",
          needs="build"),
    Route("POST", "/api/mcp-servers/{server_id}/connect", mcp_connections.connect_mcp_server, 200,
          mcp_connections.McpConnectStart,
          "mcp_server_not_found mcp_server_exists too_many_mcp_servers mcp_not_oauth mcp_oauth_failed "
          "mcp_client_required egress_refused no_secret_key secret_required secret_unreadable rate_limited"),
    Route("GET", "/api/mcp-servers/oauth/callback", mcp_connections.finish_mcp_connect, 303, None),
    Route("DELETE", "/api/mcp-servers/{server_id}/connection", mcp_connections.disconnect_mcp_server, 204, None,
          "mcp_server_not_found mcp_server_exists too_many_mcp_servers"),
    Route("PUT", "/api/mcp-servers/{server_id}/tools/{tool_id}", mcp_tools.change_mcp_tool, 200,
          mcp_views.McpToolView,
          "mcp_server_not_found mcp_server_exists too_many_mcp_servers mcp_tool_not_found mcp_tool_changed "
          "mcp_tool_unusable tool_exists", needs="build"),
    Route("POST", "/api/mcp-servers/{server_id}/tools/{tool_id}/accept", mcp_tools.accept_mcp_tool, 200,
          mcp_views.McpToolView,
          "mcp_server_not_found mcp_server_exists too_many_mcp_servers mcp_tool_not_found mcp_tool_changed "
          "mcp_tool_unusable tool_exists", needs="build"),
    Route("PUT", "/api/agents/{agent_id}/mcp-servers/{server_id}", mcp_tools.assign_mcp_server, 204, None,
          "agent_not_found agent_read_only mcp_server_not_found mcp_server_exists too_many_mcp_servers",
          needs="build"),
    Route("DELETE", "/api/agents/{agent_id}/mcp-servers/{server_id}", mcp_tools.unassign_mcp_server, 204, None,
          "agent_not_found agent_read_only mcp_server_not_found mcp_server_exists too_many_mcp_servers",
          needs="build"),

    Route("GET", "/api/drafts", drafts.list_drafts, 200, drafts.Drafts, "invalid_cursor"),
    Route("GET", "/api/drafts/{draft_id}", drafts.get_draft, 200, drafts.DraftWithContent, "draft_not_found"),
    Route("GET", "/api/drafts/{draft_id}/versions", drafts.list_draft_versions, 200, drafts.DraftVersions,
          "draft_not_found invalid_cursor"),
    Route("GET", "/api/drafts/{draft_id}/versions/{version}", drafts.get_draft_version, 200, drafts.DraftContent,
          "draft_not_found version_not_found"),
    Route("DELETE", "/api/drafts/{draft_id}", drafts.delete_draft, 204, None, "draft_not_found"),
    Route("GET", "/api/agents/{agent_id}/memories", memories.list_memories, 200, memory_views.Memories,
          "agent_not_found invalid_cursor rate_limited"),
    Route("POST", "/api/agents/{agent_id}/memories", memories.add_memory, 201, memory_views.MemoryView,
          "agent_not_found message_not_found memory_empty memory_too_large too_many_memories forbidden"),
    Route("GET", "/api/agent-memories/{memory_id}", memories.get_memory, 200, memory_views.MemoryView,
          "memory_not_found"),
    Route("PATCH", "/api/agent-memories/{memory_id}", memories.change_memory, 200, memory_views.MemoryView,
          "memory_not_found memory_empty memory_too_large memory_exists memory_without_agent forbidden"),
    Route("DELETE", "/api/agent-memories/{memory_id}", memories.delete_memory, 204, None,
          "memory_not_found forbidden"),
    Route("GET", "/api/agents/{agent_id}/memory-suggestions", suggestions.list_agent_suggestions, 200,
          memory_views.Suggestions, "agent_not_found invalid_cursor"),
    Route("GET", "/api/memory-suggestions", suggestions.list_suggestions, 200, memory_views.Suggestions,
          "invalid_cursor"),
    Route("POST", "/api/memory-suggestions/{suggestion_id}/approve", suggestions.approve_suggestion, 200,
          memory_views.MemoryView,
          "suggestion_not_found suggestion_closed agent_not_found too_many_memories forbidden"),
    Route("POST", "/api/memory-suggestions/{suggestion_id}/reject", suggestions.reject_suggestion, 204, None,
          "suggestion_not_found suggestion_closed"),
    Route("POST", "/api/memory-suggestions/{suggestion_id}/edit", suggestions.edit_suggestion, 200,
          memory_views.SuggestionView,
          "suggestion_not_found suggestion_closed memory_empty memory_too_large"),
    Route("POST", "/api/agent-sessions/{session_id}/memory-suggestions/approve",
          suggestions.approve_session_suggestions, 200, memory_views.Approved,
          "session_not_found agent_not_found too_many_memories forbidden"),
    Route("POST", "/api/agent-sessions/{session_id}/close", suggestions.close_session, 200,
          memory_views.ClosedSession, "session_not_found session_busy"),
    Route("GET", "/api/me/memories", memories.list_my_memories, 200, memory_views.Memories,
          "invalid_cursor rate_limited"),
    Route("GET", "/api/me/memories/export", memories.export_my_memories, 200, memory_views.MemoryExport),
    Route("DELETE", "/api/me/memories", memories.forget_me, 200, memory_views.Forgotten),
    Route("GET", "/api/profile", profile.get_profile, 200, profile.ProfileView),
    Route("PATCH", "/api/profile", profile.change_profile, 200, profile.ProfileView, "invalid_profile"),

    Route("GET", "/api/about", system.about, 200, system.About),
    Route("GET", "/api/health", system.health, 200, system.Health, access="public"),
    Route("GET", "/api/ready", system.ready, 200, system.Ready, "not_ready", access="public"),
    Route("GET", "/api/openapi.json", system.openapi, 200, "application/json", access="public"),
    Route("GET", mcp_connections.DOCUMENT_PATH, mcp_connections.mcp_client_document, 200,
          mcp_connections.McpClientDocument, "not_found", access="public"),
    Route("GET", protected_resource.METADATA_PATH, protected_resource.protected_resource, 200,
          protected_resource.ProtectedResource, access="public"),
    Route("GET", "/.well-known/oauth-protected-resource", protected_resource.protected_resource_of_server, 200,
          protected_resource.ProtectedResource, access="public"),
    Route("GET", "/metrics", system.metrics, 200, "text/plain", access="local"),
    Route("GET", "/api/sign-in/methods", sign_in.sign_in_methods, 200, sign_in.SignInMethods, access="public"),
    Route("POST", "/api/sign-in", sign_in.sign_in_with_password, 200, team.TeamView,
          "wrong_credentials no_membership forbidden_origin rate_limited", access="public"),
    Route("GET", "/sign-in", sign_in.sign_in, 303, None, "rate_limited", access="public", pages=(200, 403)),
    Route("POST", "/sign-out", sign_in.sign_out, 204, None, "forbidden_origin", access="public"),
    Route("GET", "/sign-in/oidc/{provider}", oidc.begin_sign_in, 303, None,
          "sign_in_provider_not_found sign_in_provider_failed unauthenticated rate_limited", access="public"),
    Route("GET", "/sign-in/oidc/{provider}/callback", oidc.finish_sign_in, 303, None,
          "sign_in_provider_not_found sign_in_provider_failed invalid_sign_in_state sign_in_denied invalid_id_token "
          "email_not_allowed email_not_verified identity_not_linked identity_taken not_invited no_membership "
          "not_confirmed invitation_not_found invitation_not_yours unauthenticated rate_limited", access="public"),
    Route("GET", "/api/account/identities", oidc.list_identities, 200, oidc.Identities),
    Route("DELETE", "/api/account/identities/{provider}", oidc.unlink_identity, 204, None,
          "sign_in_provider_not_found identity_not_found last_sign_in", fresh=True),
    Route("POST", "/api/account/identities/{provider}", oidc.link_identity, 200, oidc.SignInStart,
          "sign_in_provider_not_found sign_in_provider_failed", fresh=True),
]
# fmt: on
