-- +goose Up
-- The address of the person by which the identity entered last: whoever loses the address
-- loses the identity. Null: it entered last before this column.
ALTER TABLE identities ADD COLUMN address TEXT;
-- An identity whose person has lost an address since may have entered by that one. It enters
-- again by an address that its person has.
DELETE FROM identities WHERE person IN (SELECT id FROM people WHERE removed_at IS NULL)
  AND EXISTS (SELECT 1 FROM audit WHERE kind = 'address.removed' AND ids ->> '$.person' = person AND at >= linked_at);
