-- The audit log: append-only.

-- name: add_audit
insert into audit_log (tenant_id, at, user_id, credential, address, request_id, action, object, details)
values (:tenant, :now, :user_id, :credential, :address, :request_id, :action, :object, :details);

-- name: list_audit
-- In the order of AuditEntry's fields. Scans from the newest entry back, which is slow for a rare action.
select number, at, user_id, credential, address, request_id, action, object, details
from audit_log
where tenant_id = :tenant and number < :before
    and (cast(:action as text) is null or action = :action)
    and (cast(:user_id as text) is null or user_id = :user_id)
order by number desc limit :limit;
