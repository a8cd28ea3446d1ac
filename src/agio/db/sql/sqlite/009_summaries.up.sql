-- A run that summarised older messages knows how many before it are still needed.
alter table runs add column needed integer;              -- messages before the run that its agent still sees; null: all
