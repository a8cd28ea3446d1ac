-- Conversations of programs that use the Agents SDK by themselves.

-- name: newest_session_items
select idx, item from session_items
where tenant_id = :tenant and session_key = :key order by idx desc limit :limit;

-- name: add_session_item
insert into session_items (tenant_id, session_key, idx, item) values (:tenant, :key, :idx, :item);

-- name: remove_session_items
delete from session_items where tenant_id = :tenant and session_key = :key and idx >= :first;
