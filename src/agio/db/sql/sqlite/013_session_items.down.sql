drop table session_items;
