-- Files of users, in chunks. An incomplete file is hidden.

-- part: file_columns
-- In the order of FileRecord's fields.
    f.id, f.tenant_id, f.user_id, f.session_id, f.name, f.media_type, f.size, f.digest, f.created_at

-- name: count_unused_files
-- The number and size of a user's files that no message refers to, with incomplete ones.
select count(*), cast(coalesce(sum(size), 0) as bigint) from files
where tenant_id = :tenant and user_id = :user_id and session_id is null;

-- name: begin_file
insert into files (id, tenant_id, user_id, name, media_type, size, digest, created_at)
values (:file_id, :tenant, :user_id, :file_name, :media_type, :size, :digest, :created_at);

-- name: add_file_chunk
insert into file_chunks (file_id, idx, data) values (:file_id, :idx, :data);

-- name: finish_file
update files set stored_at = :now, session_id = :session_id
where id = :file_id and tenant_id = :tenant and user_id = :user_id and stored_at is null returning id;

-- name: put_file_text
-- What models get instead of its bytes.
update files set text = :text where id = :file_id and tenant_id = :tenant and user_id = :user_id returning id;

-- name: get_file
select {file_columns} from files f
where f.id = :file_id and f.tenant_id = :tenant and f.user_id = :user_id and f.stored_at is not null;

-- name: read_file
select c.data from files f join file_chunks c on c.file_id = f.id
where f.id = :file_id and f.tenant_id = :tenant and f.user_id = :user_id and f.stored_at is not null and c.idx = :idx;

-- name: read_session_file
-- A chunk of a file that a message of this session refers to, or of its text if it has one; null after the last.
select f.name, case when f.text is null then f.media_type else 'text/plain' end,
    case when f.text is null then f.size else length(f.text) end,
    case when f.text is null then c.data when :idx = 0 then f.text end
from files f left join file_chunks c on c.file_id = f.id and c.idx = :idx
where f.id = :file_id and f.tenant_id = :tenant and f.user_id = :user_id and f.session_id = :session_id
    and f.stored_at is not null;

-- name: attach_file
-- To the session whose message refers to it; a file has one session.
update files set session_id = :session_id
where id = :file_id and tenant_id = :tenant and user_id = :user_id and stored_at is not null
    and (session_id is null or session_id = :session_id)
returning id;

-- name: delete_file
-- Deletes its chunks too.
delete from files where id = :file_id and tenant_id = :tenant and user_id = :user_id returning id;

-- name: unused_files
select id from files where session_id is null and created_at < :before limit :limit;

-- name: delete_unused_file
-- Unless a message refers to it by now.
delete from files where id = :file_id and session_id is null and created_at < :before returning id;
