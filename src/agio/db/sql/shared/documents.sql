-- Collections, documents, their versions and passages.

-- part: may_see
-- Whether collection `c` is the team's, or the user's own.
    c.tenant_id = :tenant and (c.user_id is null or c.user_id = :user_id) and c.deleted_at is null

-- part: collection_columns
-- In the order of CollectionRecord's fields.
    c.id, c.tenant_id, c.user_id, c.name, c.description,
    (select count(*) from documents d where d.collection_id = c.id and d.deleted_at is null),
    c.created_at, c.updated_at

-- part: document_version_columns
-- In the order of VersionRecord's fields.
    v.id, v.document_id, v.number, v.state, v.format, v.media_type, v.size, v.digest, v.done, v.pages, v.chars,
    v.tokens, v.passages, v.error_code, v.error_message, v.created_by, v.created_at, v.ended_at

-- part: document_columns
-- In the order of DocumentRecord's fields before its versions.
    d.id, d.tenant_id, d.collection_id, d.name, d.source, d.url, d.created_by, d.created_at, d.updated_at

-- part: passage_columns
-- In the order of DocumentPassage's fields.
    d.id, x.version_id, d.name, x.idx, x.text, x.start_at, x.end_at, x.page, x.line, x.heading

-- name: create_collection
insert into collections (id, tenant_id, user_id, name, description, created_at, updated_at)
values (:collection_id, :tenant, :owner, :name, :description, :now, :now);

-- name: list_collections
select {collection_columns} from collections c
where {may_see} and (c.name, c.id) > (:name, :collection_id) order by c.name, c.id limit :limit;

-- name: get_collection
select {collection_columns} from collections c where c.id = :collection_id and {may_see};

-- name: collection_by_name
select c.id from collections c
where c.tenant_id = :tenant and c.user_id is not distinct from cast(:owner as text) and c.name = :name
    and c.deleted_at is null;

-- name: change_collection
update collections set name = :name, description = :description, updated_at = :now
where id = :collection_id and tenant_id = :tenant;

-- name: hide_collection
-- Its documents are deleted after this.
update collections set deleted_at = :now where id = :collection_id and tenant_id = :tenant and deleted_at is null
returning id;

-- name: documents_of_collection
select id from documents where collection_id = :collection_id and tenant_id = :tenant limit :limit;

-- name: drop_collection
delete from collections where id = :collection_id and tenant_id = :tenant and deleted_at is not null;

-- name: count_documents
select count(*) from documents where tenant_id = :tenant;

-- name: document_by_name
select {document_columns} from documents d
where d.collection_id = :collection_id and d.tenant_id = :tenant and d.name = :name and d.deleted_at is null;

-- name: add_document
insert into documents (id, tenant_id, collection_id, name, source, url, created_by, created_at, updated_at)
values (:document_id, :tenant, :collection_id, :name, :source, :url, :user_id, :now, :now);

-- name: touch_document
update documents set source = :source, url = :url, updated_at = :now where id = :document_id and tenant_id = :tenant;

-- name: newest_version
select {document_version_columns} from document_versions v
where v.document_id = :document_id and v.tenant_id = :tenant order by v.number desc limit 1;

-- name: begin_version
insert into document_versions (
    id, tenant_id, document_id, number, state, format, media_type, size, digest, created_by, created_at
) values (
    :version_id, :tenant, :document_id, :number, 'receiving', :format, :media_type, :size, :digest, :user_id, :now
);

-- name: add_document_chunk
insert into document_chunks (version_id, idx, data) values (:version_id, :idx, :data);

-- name: finish_version
update document_versions set state = 'waiting' where id = :version_id and state = 'receiving' returning id;

-- name: list_documents
select {document_columns} from documents d join collections c on c.id = d.collection_id
where d.tenant_id = :tenant and {may_see} and d.deleted_at is null
    and (cast(:collection_id as text) is null or d.collection_id = :collection_id)
    and (d.name, d.id) > (:name, :document_id)
order by d.name, d.id limit :limit;

-- name: get_document
select {document_columns} from documents d join collections c on c.id = d.collection_id
where d.id = :document_id and d.tenant_id = :tenant and {may_see} and d.deleted_at is null;

-- name: versions_of_documents
-- The published version and the newest of each, with the id of the published one, of one moment.
select {document_version_columns}, d.version_id
from documents d join document_versions v on v.document_id = d.id
where d.tenant_id = :tenant and d.id {among}
    and (
        v.id = d.version_id
        or v.number = (select max(n.number) from document_versions n where n.document_id = d.id)
    );

-- name: list_document_versions
select {document_version_columns} from document_versions v
where v.document_id = :document_id and v.tenant_id = :tenant and v.state <> 'receiving' order by v.number desc;

-- name: read_document_chunk
select c.data from document_versions v join document_chunks c on c.version_id = v.id
where v.id = :version_id and v.document_id = :document_id and v.tenant_id = :tenant and c.idx = :idx;

-- name: read_passages
select {passage_columns} from document_passages x
    join document_versions v on v.id = x.version_id join documents d on d.id = v.document_id
where x.version_id = :version_id and v.document_id = :document_id and v.tenant_id = :tenant
    and v.state in ('published', 'superseded') and x.idx >= :idx
order by x.idx limit :limit;

-- name: outline
-- The first passage of each heading.
select x.heading, min(x.idx), min(x.page) from document_passages x
    join document_versions v on v.id = x.version_id
where x.version_id = :version_id and v.document_id = :document_id and v.tenant_id = :tenant
    and v.state in ('published', 'superseded') and x.heading <> ''
group by x.heading order by min(x.idx) limit :limit;

-- name: cancel_versions
update document_versions set state = 'cancelled', ended_at = :now
where document_id = :document_id and tenant_id = :tenant
    and state in ('receiving', 'waiting', 'extracting', 'indexing')
returning id;

-- name: hide_document
-- Nothing finds it after this; its versions are deleted next.
update documents set deleted_at = :now, version_id = null
where id = :document_id and tenant_id = :tenant and deleted_at is null returning id;

-- name: versions_of_document
select id from document_versions where document_id = :document_id and tenant_id = :tenant;

-- name: drop_indexed
-- Passages of a version in the index, from one id up to another.
delete from passages where tenant_id = :tenant and kind = 'document' and item_id >= :first and item_id < :upto;

-- name: last_indexed
select max(item_id) from passages
where tenant_id = :tenant and kind = 'document' and item_id > :first and item_id < :upto;

-- name: drop_document_passages
delete from document_passages where version_id = :version_id and tenant_id = :tenant and idx >= :first and idx < :upto;

-- name: last_passage
select max(idx) + 1 from document_passages where version_id = :version_id and tenant_id = :tenant;

-- name: drop_document
delete from documents where id = :document_id and tenant_id = :tenant and deleted_at is not null;

-- name: deleted_documents
-- Of every tenant: what a deletion that broke off left.
select id, tenant_id, id from documents where deleted_at is not null and deleted_at < :before limit :limit;

-- name: deleted_collections
select id, tenant_id, '' from collections where deleted_at is not null and deleted_at < :before limit :limit;

-- name: unfinished_versions
-- Of every tenant: uploads that broke off.
select id, tenant_id, document_id from document_versions
where state = 'receiving' and created_at < :before limit :limit;

-- name: drop_version
delete from document_versions where id = :version_id and tenant_id = :tenant;

-- name: forget_empty_document
-- One whose only upload broke off.
delete from documents where id = :document_id and tenant_id = :tenant
    and not exists (select 1 from document_versions v where v.document_id = :document_id);

-- name: visible_collections
select c.id from collections c where {may_see} and c.id {among};

-- name: found_passages
-- Those of published versions.
select {passage_columns} from document_passages x
    join document_versions v on v.id = x.version_id
    join documents d on d.id = v.document_id and d.version_id = v.id
    join collections c on c.id = d.collection_id
where x.id {among} and d.deleted_at is null and {may_see};

-- part: library
-- The published versions of collections.
    from documents d join document_versions v on v.id = d.version_id join collections c on c.id = d.collection_id
where d.collection_id {among} and d.deleted_at is null and {may_see}

-- name: size_of_library
select count(*), cast(coalesce(sum(v.tokens), 0) as bigint) {library};

-- name: whole_library
select {passage_columns}
from documents d join document_versions v on v.id = d.version_id join collections c on c.id = d.collection_id
    join document_passages x on x.version_id = v.id
where d.collection_id {among} and d.deleted_at is null and {may_see}
order by d.name, d.id, x.idx;

-- name: library_documents
select {document_columns} {library} order by d.name, d.id limit :limit;

-- name: newest_number
select coalesce(max(number), 0) from session_passages where session_id = :session_id and tenant_id = :tenant;

-- name: numbers_of_passages
select passage_id, number from session_passages
where session_id = :session_id and tenant_id = :tenant and passage_id {among};

-- name: number_passage
-- Unless its version was deleted meanwhile.
insert into session_passages (session_id, number, tenant_id, passage_id)
select :session_id, :number, x.tenant_id, x.id from document_passages x
where x.id = :passage_id and x.tenant_id = :tenant
on conflict do nothing;

-- name: begin_with_passage
insert into run_passages (run_id, session_id, number)
select r.run_id, s.session_id, s.number
from session_passages s join runs r on r.session_id = s.session_id
where s.session_id = :session_id and s.number = :number and r.run_id = :run_id and s.tenant_id = :tenant
on conflict do nothing;

-- name: passages_of_run
select {passage_columns}, s.number
from run_passages r join session_passages s on s.session_id = r.session_id and s.number = r.number
    join document_passages x on x.id = s.passage_id join document_versions v on v.id = x.version_id
    join documents d on d.id = v.document_id
where r.run_id = :run_id and d.deleted_at is null order by s.number;

-- name: version_to_ingest
-- In the order of Ingestion's fields.
select d.tenant_id, v.created_by, d.collection_id, d.id, d.name, d.source, d.url, v.id, v.state, v.format, v.media_type,
    v.size, v.digest
from document_versions v join documents d on d.id = v.document_id
where v.id = :version_id and d.deleted_at is null;

-- name: unneeded_versions
-- Versions that ended and are not published.
select id from document_versions
where document_id = :document_id and tenant_id = :tenant and state in ('superseded', 'failed', 'cancelled');

-- name: set_version_content
update document_versions set
    media_type = :media_type, format = :format, digest = :digest, size = :size
where id = :version_id and state in ('waiting', 'extracting', 'indexing') returning id;

-- name: clear_chunks
delete from document_chunks where version_id = :version_id;

-- name: published_digest
select o.digest from document_versions v join documents d on d.id = v.document_id
    join document_versions o on o.id = d.version_id
where v.id = :version_id;

-- name: note_progress
update document_versions set state = :state, done = :done, pages = coalesce(:pages, pages)
where id = :version_id and state in ('waiting', 'extracting', 'indexing') returning id;

-- name: add_document_passage
insert into document_passages (id, tenant_id, version_id, idx, text, start_at, end_at, page, line, heading)
values (:id, :tenant, :version_id, :idx, :text, :start_at, :end_at, :page, :line, :heading)
on conflict (id) do nothing;

-- name: publish_version
update document_versions set
    state = 'published', ended_at = :now, done = :passages, pages = :pages, chars = :chars, tokens = :tokens,
    passages = :passages
where id = :version_id and state = 'indexing' returning document_id, number;

-- name: point_to_version
-- The pointer that searches follow: never back to an older version.
update documents set version_id = :version_id, updated_at = :now
where id = :document_id and deleted_at is null and not exists (
    select 1 from document_versions o where o.id = documents.version_id and o.number > :number
)
returning id;

-- name: supersede_versions
update document_versions set state = 'superseded'
where document_id = :document_id and state = 'published' and id <> :version_id returning id;

-- name: supersede_version
update document_versions set state = 'superseded' where id = :version_id and state = 'published';

-- name: fail_version
update document_versions set state = 'failed', error_code = :code, error_message = :message, ended_at = :now
where id = :version_id and state in ('waiting', 'extracting', 'indexing') returning id;
