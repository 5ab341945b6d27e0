// What the errors of PostgreSQL mean to callers and to people.

package store

import (
	"errors"
	"fmt"
	"io/fs"

	"cairn/store/postgres"
)

// explain adds to an error what it means.
func (p *postgreSQL) explain(err error) error {
	var done *inWords
	if err == nil || errors.As(err, &done) {
		return err
	}
	words := p.address.Explain(err)
	switch postgres.Code(err) {
	case postgres.Fenced:
		return fmt.Errorf("%w: %w", ErrOwned, err)
	case postgres.MissingRight:
		words = p.lacksGrants()
	case postgres.DiskFull:
		return &inWords{words: fmt.Sprintf("%v: %s: %v", ErrFull, words, err), cause: err, is: ErrFull}
	case postgres.DataCorrupted, postgres.IndexCorrupted:
		return &inWords{words: fmt.Sprintf("the database is damaged, nothing was changed: %v", err), cause: err, is: ErrDamaged}
	}
	var unanswered *commitError
	if errors.As(err, &unanswered) && postgres.Unanswered(err) {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if words == "" {
		return err
	}
	return &inWords{words: fmt.Sprintf("%s: %v", words, err), cause: err}
}

// lacksRight says how to grant what a bot needs.
func (p *postgreSQL) lacksRight() string {
	user := p.address.User()
	return fmt.Sprintf("the user %s may not create or use the schema %s: let the owner of the database run CREATE SCHEMA %[2]s AUTHORIZATION %[1]s; or, if it exists, ALTER SCHEMA %[2]s OWNER TO %[1]s", user, p.schema)
}

// lacksGrants says how to grant what a bot needs of tables that another user owns.
func (p *postgreSQL) lacksGrants() string {
	return fmt.Sprintf("the user %s lacks a right in the schema %s: let the owner of its tables run "+
		"GRANT USAGE ON SCHEMA %[2]s TO %[1]s; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[2]s TO %[1]s; GRANT SELECT ON ALL SEQUENCES IN SCHEMA %[2]s TO %[1]s",
		p.address.User(), p.schema)
}

// wantOwner fails unless the user may bring the tables from one version to another.
func (p *postgreSQL) wantOwner(tx *Tx, from, to int) {
	owner, owns := p.owner(tx)
	switch {
	case !owns:
		tx.Fail(fmt.Errorf("the tables have version %d, this cairn needs version %d, and the user %s does not own them: run `cairn upgrade --store ADDRESS` with the address of %s, who does",
			from, to, p.address.User(), owner))
	case !p.mayCreate(tx):
		tx.Fail(errors.New(p.lacksRight()))
	}
}

// inWords is an error of the server with what it means.
type inWords struct {
	words string
	cause error
	is    error // the error that callers branch on; nil: none does
}

func (e *inWords) Error() string { return e.words }

// Is finds the cause too, but for a socket that is missing: the store may exist.
func (e *inWords) Is(target error) bool {
	return target == e.is || target != fs.ErrNotExist && errors.Is(e.cause, target)
}
