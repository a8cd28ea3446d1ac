-- The audit log: added to and read, never changed.

-- name: add_audit
insert into audit_log (tenant_id, at, user_id, credential, address, request_id, action, object, details)
values (:tenant, :now, :user_id, :credential, :address, :request_id, :action, :object, :details);

-- name: list_audit
-- In the order of AuditEntry's fields. From the newest back: an action that is rare is looked for a long time.
select number, at, user_id, credential, address, request_id, action, object, details
from audit_log
where tenant_id = :tenant and number < :before
    and (cast(:action as text) is null or action = :action)
    and (cast(:user_id as text) is null or user_id = :user_id)
order by number desc limit :limit;
