-- Which run a run is a copy of: it was paid for once.

alter table runs add column copied_from text collate "C";   -- the run it was copied from, at first if this version copied it; may be gone; null: none

-- Copies have the times they had in the session they were copied from, and stand where they stood.
update runs set copied_from = (
    select coalesce(
        (
            select o.run_id from runs o
            where o.session_id = s.forked_from and o.first_pos = runs.first_pos and o.created_at = runs.created_at
            limit 1
        ),
        ''
    )
    from agent_sessions s
    where s.id = runs.session_id and s.forked_from is not null and runs.created_at < s.created_at
)
where session_id in (select id from agent_sessions where forked_from is not null);
