-- Drafts agents write for users, with all their versions.

-- part: draft_columns
-- In the order of DraftRecord's fields.
    d.id, d.key, d.kind, d.title, d.version, d.created_at, d.updated_at

-- part: version_columns
-- In the order of DraftVersionHead's fields.
    v.version, v.title, v.session_id, v.run_id, v.created_at

-- name: list_drafts
select {draft_columns} from drafts d
where tenant_id = :tenant and user_id = :user_id and (updated_at, id) < (:updated_at, :draft_id)
order by updated_at desc, id desc limit :limit;

-- name: list_drafts_of_kind
select {draft_columns} from drafts d
where tenant_id = :tenant and user_id = :user_id and (updated_at, id) < (:updated_at, :draft_id) and kind = :kind
order by updated_at desc, id desc limit :limit;

-- name: get_draft
select {draft_columns} from drafts d where id = :draft_id and tenant_id = :tenant and user_id = :user_id;

-- name: add_draft
insert into drafts (id, tenant_id, user_id, key, kind, title, version, created_at, updated_at)
values (:draft_id, :tenant, :user_id, :key, :kind, :title, 0, :now, :now) on conflict do nothing;

-- name: has_draft_call
select v.version from draft_versions v join drafts d on d.id = v.draft_id
where d.id = :draft_id and d.tenant_id = :tenant and d.user_id = :user_id and v.call_id = :call_id
    and v.call_id is not null;

-- name: move_draft
update drafts set version = :version, title = :title, kind = :kind, updated_at = :now
where id = :draft_id and tenant_id = :tenant and user_id = :user_id;

-- name: add_draft_version
-- The caller has locked the user's draft.
insert into draft_versions (draft_id, version, title, content, session_id, run_id, call_id, created_at)
values (:draft_id, :version, :title, :content, :session_id, :run_id, :call_id, :now);

-- name: get_draft_version
select {version_columns}, v.content
from draft_versions v join drafts d on d.id = v.draft_id
where d.id = :draft_id and d.tenant_id = :tenant and d.user_id = :user_id and v.version = :version;

-- name: list_draft_versions
select {version_columns}
from draft_versions v join drafts d on d.id = v.draft_id
where d.id = :draft_id and d.tenant_id = :tenant and d.user_id = :user_id and v.version < :before
order by v.version desc limit :limit;

-- name: delete_draft
delete from drafts where id = :draft_id and tenant_id = :tenant and user_id = :user_id returning id;
