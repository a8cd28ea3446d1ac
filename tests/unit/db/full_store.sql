-- A Postgres store of some size: 50 tenants of 10 users, 5,000 sessions, 10,000 runs, and statistics of it.

insert into tenants (id, name, created_at) select 'ten_' || t, 'T', 0 from generate_series(1, 50) t;

insert into users (tenant_id, id, name, role, created_at)
select 'ten_' || t, 'usr_' || n, 'U', 'member', 0 from generate_series(1, 50) t, generate_series(1, 10) n;

insert into api_keys (id, tenant_id, user_id, name, prefix, hash, created_at)
select 'key_' || tenant_id || id, tenant_id, id, 'K', 'k', (tenant_id || id)::bytea, 0 from users;

insert into web_sessions (id, tenant_id, user_id, token_hash, created_at, expires_at)
select 'web_' || tenant_id || id, tenant_id, id, (tenant_id || id)::bytea, 0, 1 from users;

insert into agents (
    id, tenant_id, name, description, system_prompt, model_provider, model_name, status, approval, source, created_at,
    updated_at
)
select 'agt_' || t || '_' || n, 'ten_' || t, 'agent ' || n, '', '', 'demo', 'demo', 'active', 'tool', 'stored', 0, 0
from generate_series(1, 50) t, generate_series(0, 19) n;

insert into agent_tools (id, tenant_id, name, created_at) select 'tool_' || id, tenant_id, 'tool ' || id, 0 from agents;

insert into agent_tool_assignments (agent_id, tool_id, idx) select id, 'tool_' || id, 0 from agents;

insert into definitions (agent_id, digest, body, created_at) select id, 'digest', '', 0 from agents;

insert into agent_sessions (
    id, tenant_id, user_id, agent_id, title, on_busy, alias, mark, created_at, updated_at
)
select 'ses_' || t || '_' || n, 'ten_' || t, 'usr_' || (1 + n % 10), 'agt_' || t || '_' || n % 20, 'title', 'queue',
    'alias ' || n, 'm', 0, n
from generate_series(1, 50) t, generate_series(1, 100) n;

insert into runs (
    run_id, session_id, agent_id, agent_name, tenant_id, user_id, model, status, kind, epoch, last_seq, first_pos,
    created_at, mark, title, alias, token_hash, turns_at_claim, fruitless
)
select 'run_' || id || '_' || r, id, agent_id, 'agent', tenant_id, user_id, 'demo',
    case when r = 1 then 'completed' when updated_at % 50 = 0 then 'running' when updated_at % 20 = 1 then 'queued'
        else 'completed' end,
    'message', 1, 1, case when r = 1 or updated_at % 20 <> 1 then r end, 0, 'm', 't', 'alias ' || r, '', 0, 0
from agent_sessions, generate_series(1, 2) r;

insert into frames (run_id, epoch, first_seq, last_seq, payload) select run_id, 1, 1, 1, 'x' from runs;

insert into turns (run_id, seq, step, record) select run_id, 1, 1, 'x' from runs;

insert into tool_executions (run_id, key, tool, effect, state, started_at)
select run_id, 'key', 'tool', 'once', 'finished', 0 from runs;

insert into agent_session_messages (session_id, id, run_id, run_number, idx, pos, role, message, created_at)
select session_id, 'msg_' || number, run_id, number, 0, first_pos, 'user', 'x', 0 from runs;

insert into interrupts (
    session_id, id, run_id, tool_call_id, tool, arguments, message, state, created_at, expires_at
)
select session_id, 'int_' || number, run_id, 'call', 'tool', '{}', '?',
    case when number % 100 = 0 then 'open' else 'resolved' end, 0, number
from runs;

insert into idempotency_keys (tenant_id, user_id, kind, scope, hash, digest, run_id, created_at)
select tenant_id, user_id, 'key', session_id, run_id::bytea, '', run_id, number from runs;

insert into accounts (id, email, name, created_at, updated_at)
select 'acc_' || tenant_id || id, tenant_id || id || '@example.com', 'A', 0, 0 from users;

insert into memberships (account_id, tenant_id, user_id, created_at)
select 'acc_' || tenant_id || id, tenant_id, id, 0 from users;

insert into identities (issuer, subject, account_id, created_at) select 'https://id.example', id, id, 0 from accounts;

insert into sign_in_links (token_hash, tenant_id, user_id, created_at, expires_at)
select (tenant_id || id)::bytea, tenant_id, id, 0, 1 from users;

insert into sign_in_flows (state_hash, flow, created_at, expires_at)
select n::text::bytea, ''::bytea, 0, n from generate_series(1, 500) n;

insert into invitations (id, tenant_id, role, token_hash, invited_by, created_at, expires_at)
select 'inv_' || tenant_id || id, tenant_id, 'member', (tenant_id || id)::bytea, id, 0, 1 from users;

insert into worker_keys (id, name, prefix, hash, created_at)
select 'wky_' || n, 'W', 'w', n::text::bytea, 0 from generate_series(1, 500) n;

insert into providers (id, tenant_id, name, kind, models, created_at, updated_at)
select 'prv_' || t.id || '_' || n, t.id, 'p' || n, 'openai', '[]', 0, 0 from tenants t, generate_series(1, 20) n;

insert into secrets (tenant_id, owner_id, field, key_id, sealed, updated_at)
select tenant_id, id, 'api_key', 'k', ''::bytea, 0 from providers;

insert into profiles (tenant_id, user_id, profile, version, updated_at)
select tenant_id, id, '{}'::bytea, 1, 0 from users;

insert into drafts (id, tenant_id, user_id, key, kind, title, version, created_at, updated_at)
select 'drf_' || tenant_id || id || '_' || n, tenant_id, id, n, 'document', 'D', 1, 0, n from users, generate_series(1, 10) n;

insert into draft_versions (draft_id, version, title, content, call_id, created_at)
select id, 1, 'D', '1'::bytea, id, 0 from drafts;

insert into files (id, tenant_id, user_id, session_id, name, media_type, size, digest, created_at, stored_at)
select 'file_' || id, tenant_id, user_id, case when updated_at % 2 = 0 then id end, 'F', 'text/plain', 1, ''::bytea, 0, 0
from agent_sessions;

insert into file_chunks (file_id, idx, data) select id, 0, ''::bytea from files;

insert into tool_requests (id, tenant_id, user_id, session_id, key_hash, digest, tool, effect, state, started_at)
select 'req_' || id, tenant_id, user_id, id, id::bytea, ''::bytea, 'clock', 'read', 'finished', updated_at
from agent_sessions;

insert into audit_log (tenant_id, at, user_id, credential, address, request_id, action, object, details)
select tenant_id, n, id, '', '', '', 'agent.create', '', '{}' from users, generate_series(1, 10) n;

insert into jobs (id, tenant_id, kind, key, payload, state, run_at, attempts, epoch, created_at, ended_at)
select 'job_' || number, tenant_id, 'note', run_id, ''::bytea,
    case number % 100 when 0 then 'queued' when 1 then 'dead' else 'done' end, number, 1, 1, number, number
from runs;

insert into agent_long_term_memory (
    id, tenant_id, agent_id, user_id, content, memory_type, importance, digest, session_id, observed_at, superseded_by,
    created_at, updated_at
)
select 'mem_' || id, tenant_id, agent_id, case when number % 3 > 0 then user_id end, 'c', 'fact', 0.5, id::bytea, id, 0,
    case when number % 50 = 0 then 'mem_ses_1_1' end, 0, 0
from (select *, row_number() over () as number from agent_sessions) s;

insert into memory_uses (memory_id, run_id)
select 'mem_' || session_id, run_id from runs;

insert into memory_suggestions (
    id, tenant_id, agent_id, user_id, content, memory_type, importance, scope, state, digest, session_id, observed_at,
    created_at, updated_at
)
select 'sug_' || id, tenant_id, agent_id, user_id, 'c', 'fact', 0.5, 'user', 'rejected', id::bytea, id, 0, 0, 0
from agent_sessions;

insert into extraction_spending (tenant_id, day, tokens, cost)
select 'ten_' || t, d, 0, 0 from generate_series(1, 50) t, generate_series(1, 100) d;

insert into passages (tenant_id, place, kind, item_id, at, text, stems, embedding)
select tenant_id, '_' || user_id, 'memory', 'mem_' || id, 0, 'c', 'stem' || id, 'm' from agent_sessions;

insert into embeddings (number, model, size, vector) select number, 'm', 1, array[1.0]::real[] from passages;

insert into collections (id, tenant_id, name, description, created_at, updated_at)
select 'col_' || id, tenant_id, 'c', '', 0, 0 from agent_sessions;

insert into documents (id, tenant_id, collection_id, name, source, version_id, created_by, created_at, updated_at)
select 'doc_' || id, tenant_id, 'col_' || id, 'd', 'paste', 'ver_' || id, user_id, 0, 0 from agent_sessions;

insert into document_versions (
    id, tenant_id, document_id, number, state, format, media_type, size, digest, created_by, created_at
)
select 'ver_' || id, tenant_id, 'doc_' || id, 1, 'published', 'text', '', 1, ''::bytea, user_id, 0 from agent_sessions;

insert into document_chunks (version_id, idx, data) select id, 0, ''::bytea from document_versions;

insert into document_passages (id, tenant_id, version_id, idx, text, start_at, end_at, heading)
select id || '/0', tenant_id, id, 0, '', 0, 0, '' from document_versions;

insert into session_passages (session_id, number, tenant_id, passage_id)
select id, 1, tenant_id, 'ver_' || id || '/0' from agent_sessions;

insert into run_passages (run_id, session_id, number) select run_id, session_id, 1 from runs;

analyze;
