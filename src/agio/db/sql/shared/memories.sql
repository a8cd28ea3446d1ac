-- Memories, and the suggestions that wait for a person.

-- part: memory_columns
-- In the order of MemoryRecord's fields.
    m.id, m.agent_id, m.user_id, m.content, m.memory_type, m.importance, m.access_count, m.accessed_at, m.session_id,
    m.run_id, m.message_id, m.created_by, m.observed_at, m.superseded_by, m.expires_at, m.created_at, m.updated_at

-- part: suggestion_columns
-- In the order of SuggestionRecord's fields.
    g.id, g.agent_id, g.user_id, g.content, g.memory_type, g.importance, g.scope, g.state, g.session_id, g.run_id,
    g.message_id, g.supersedes, g.observed_at, g.expires_at, g.created_at, g.updated_at

-- part: memory_filter
    (cast(:memory_type as text) is null or m.memory_type = :memory_type)
    and (m.created_at, m.id) < (:created_at, :memory_id)

-- part: is_alive
    m.superseded_by is null and (m.expires_at is null or m.expires_at > :now)

-- name: list_memories
-- Of a user with an agent, of the user, and of the agent. Without an agent: all of the user's.
select {memory_columns} from agent_long_term_memory m
where m.tenant_id = :tenant and m.user_id = :user_id and {memory_filter}
    and (cast(:agent_id as text) is null or m.agent_id is null or m.agent_id = :agent_id)
    and (
        cast(:scope as text) is null or (:scope = 'user' and m.agent_id is null)
        or (:scope = 'user_agent' and m.agent_id is not null)
    )
union all
select {memory_columns} from agent_long_term_memory m
where m.tenant_id = :tenant and m.agent_id = :agent_id and m.user_id is null and {memory_filter}
    and (cast(:scope as text) is null or :scope = 'agent')
order by created_at desc, id desc limit :limit;

-- name: agents_with_memories
-- The agents that remember something of a user.
select distinct m.agent_id from agent_long_term_memory m
where m.tenant_id = :tenant and m.user_id = :user_id and m.agent_id is not null;

-- name: run_of_message
-- What the user said.
select m.run_id from agent_session_messages m join agent_sessions s on s.id = m.session_id
where m.session_id = :session_id and m.id = :message_id and m.role = 'user'
    and s.tenant_id = :tenant and s.user_id = :user_id;

-- name: get_memory
select {memory_columns} from agent_long_term_memory m
where m.id = :memory_id and m.tenant_id = :tenant and (m.user_id = :user_id or m.user_id is null);

-- name: has_memories
-- Or a suggestion that waits.
select 1 from agent_long_term_memory m
where m.tenant_id = :tenant
    and (
        m.user_id = :user_id and (m.agent_id is null or m.agent_id = :agent_id)
        or m.user_id is null and m.agent_id = :agent_id
    )
union all
select 1 from memory_suggestions g
where g.tenant_id = :tenant and g.user_id = :user_id and g.state = 'pending' and g.agent_id = :agent_id
limit 1;

-- name: count_memories
-- Of a person, or of an agent for its team.
select count(*) from agent_long_term_memory m
where m.tenant_id = :tenant and m.user_id is not distinct from cast(:user_id as text)
    and (cast(:user_id as text) is not null or m.agent_id = :agent_id);

-- name: add_memory
insert into agent_long_term_memory (
    id, tenant_id, agent_id, user_id, content, memory_type, importance, digest, session_id, run_id, message_id, call_id,
    created_by, observed_at, expires_at, created_at, updated_at
) values (
    :id, :tenant, :agent_id, :user_id, :content, :memory_type, :importance, :digest, :session_id, :run_id, :message_id,
    :call_id, :created_by, :observed_at, :expires_at, :now, :now
) on conflict do nothing returning id;

-- name: memory_by_text
select {memory_columns} from agent_long_term_memory m where m.tenant_id = :tenant and m.digest = :digest;

-- name: supersede_memory
-- One of the same person, or of the same agent.
update agent_long_term_memory set superseded_by = :by, updated_at = :now
where id = :memory_id and tenant_id = :tenant and id <> :by and superseded_by is null
    and user_id is not distinct from cast(:user_id as text)
    and (agent_id is null or agent_id = :agent_id)
returning id;

-- name: change_memory
update agent_long_term_memory set
    content = :content, memory_type = :memory_type, importance = :importance, digest = :digest, agent_id = :agent_id,
    user_id = :owner, observed_at = :observed_at, expires_at = :expires_at, updated_at = :now
where id = :memory_id and tenant_id = :tenant and (user_id = :user_id or user_id is null)
    and not exists (
        select 1 from agent_long_term_memory o where o.tenant_id = :tenant and o.digest = :digest and o.id <> :memory_id
    )
returning id;

-- name: delete_memory
delete from agent_long_term_memory where id = :memory_id and tenant_id = :tenant returning id;

-- name: delete_suggestions_of_memory
-- Those that would replace it.
delete from memory_suggestions where tenant_id = :tenant and supersedes = :memory_id;

-- name: forget_user
delete from agent_long_term_memory where tenant_id = :tenant and user_id = :user_id returning id;

-- name: forget_suggestions
delete from memory_suggestions where tenant_id = :tenant and user_id = :user_id;

-- name: forget_conversations
-- The index of a user's messages.
delete from passages where tenant_id = :tenant and place = :place;

-- name: use_memory
insert into memory_uses (memory_id, run_id)
select m.id, r.run_id from agent_long_term_memory m join runs r on r.tenant_id = m.tenant_id
where m.id = :memory_id and r.run_id = :run_id
on conflict do nothing returning memory_id;

-- name: count_use
update agent_long_term_memory set access_count = access_count + 1, accessed_at = :now where id = :memory_id;

-- name: add_suggestion
insert into memory_suggestions (
    id, tenant_id, agent_id, user_id, content, memory_type, importance, scope, state, digest, session_id, run_id,
    message_id, call_id, supersedes, observed_at, expires_at, created_at, updated_at
) values (
    :id, :tenant, :agent_id, :user_id, :content, :memory_type, :importance, :scope, 'pending', :digest, :session_id,
    :run_id, :message_id, :call_id, :supersedes, :observed_at, :expires_at, :now, :now
) on conflict do nothing returning id;

-- name: suggestion_by_call
select {suggestion_columns} from memory_suggestions g
where g.tenant_id = :tenant and g.user_id = :user_id and g.run_id = :run_id and g.call_id = :call_id;

-- name: memory_by_call
select {memory_columns} from agent_long_term_memory m
where m.tenant_id = :tenant and m.user_id = :user_id and m.run_id = :run_id and m.call_id = :call_id;

-- name: list_suggestions
select {suggestion_columns} from memory_suggestions g
where g.tenant_id = :tenant and g.user_id = :user_id and g.state = 'pending'
    and (cast(:agent_id as text) is null or g.agent_id = :agent_id)
    and (cast(:session_id as text) is null or g.session_id = :session_id)
    and (g.created_at, g.id) < (:created_at, :suggestion_id)
order by g.created_at desc, g.id desc limit :limit;

-- name: get_suggestion
select {suggestion_columns} from memory_suggestions g
where g.id = :suggestion_id and g.tenant_id = :tenant and g.user_id = :user_id;

-- name: decide_suggestion
-- The first decision counts. Nothing of the text stays but its digest.
update memory_suggestions set state = :state, content = '', updated_at = :now
where id = :suggestion_id and tenant_id = :tenant and user_id = :user_id and state = 'pending'
returning id;

-- name: change_suggestion
update memory_suggestions set
    content = :content, memory_type = :memory_type, importance = :importance, scope = :scope,
    observed_at = :observed_at, expires_at = :expires_at, updated_at = :now
where id = :suggestion_id and tenant_id = :tenant and user_id = :user_id and state = 'pending'
returning id;

-- name: announce_suggestions
-- Those of a session that no run has announced.
update memory_suggestions set announced_at = :now
where session_id = :session_id and state = 'pending' and announced_at is null and created_at < :before
returning id;

-- name: suggestions_by_id
select {suggestion_columns} from memory_suggestions g where g.id = :suggestion_id;

-- name: close_agent_session
update agent_sessions set closed_at = :now
where id = :session_id and tenant_id = :tenant and user_id = :user_id and closed_at is null returning id;

-- name: runs_to_extract
-- The ended runs of a session whose memories were not suggested yet; a copy's were, with its original.
select r.run_id, r.status, r.goal_met, r.ended_at from runs r
where r.session_id = :session_id and r.first_pos is not null and r.extracted_at is null and r.ended_at is not null
    and r.copied_from is null
order by r.first_pos, r.number;

-- name: messages_to_extract
-- What the user and the agent said in a session, oldest first.
select m.id, m.role, m.message, m.run_id, m.created_at from agent_session_messages m
where m.session_id = :session_id and m.pos is not null and m.role in ('user', 'assistant')
order by m.pos, m.run_number, m.idx;

-- name: extraction_state
-- What an extraction must know of its session.
select s.tenant_id, s.user_id, s.closed_at, s.agent_id
from agent_sessions s where s.id = :session_id;

-- name: mark_extracted
update runs set extracted_at = :now where run_id = :run_id and extracted_at is null returning run_id;

-- name: spent_on_extraction
select tokens, cost from extraction_spending where tenant_id = :tenant and day = :day;

-- name: spend_on_extraction
insert into extraction_spending (tenant_id, day, tokens, cost) values (:tenant, :day, :tokens, :cost)
on conflict (tenant_id, day) do update set
    tokens = extraction_spending.tokens + excluded.tokens, cost = extraction_spending.cost + excluded.cost;

-- name: put_passage
insert into passages (tenant_id, place, kind, item_id, at, text, stems)
values (:tenant, :place, :kind, :item_id, :at, :text, :stems)
on conflict (tenant_id, kind, item_id) do update set
    place = excluded.place, at = excluded.at, text = excluded.text, stems = excluded.stems, embedding = ''
where passages.text <> excluded.text or passages.place <> excluded.place or passages.at <> excluded.at;

-- name: drop_passage
delete from passages where tenant_id = :tenant and kind = :kind and item_id = :item_id;


-- name: superseded_memories
select id from agent_long_term_memory where tenant_id = :tenant and superseded_by = :memory_id;

-- name: sessions_of_agent
select s.id from agent_sessions s
where s.tenant_id = :tenant and s.agent_id = :agent_id and s.id > :after order by s.id limit :limit;

-- name: passages_to_embed
-- In the order of PassageToEmbed's fields: those without a vector of this model.
select p.number, p.tenant_id, p.text from passages p
where (p.embedding < :model or p.embedding > :model) and p.number > :after order by p.number limit :limit;

-- name: mark_embedded
update passages set embedding = :model where number = :number and text = :text;
