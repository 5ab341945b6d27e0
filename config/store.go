// Where the database is: in the data folder, or in PostgreSQL.

package config

import (
	"fmt"
	"regexp"
	"strings"

	"cairn/store/postgres"
)

// passwordVariable is the environment variable in which PostgreSQL's programs look for a password.
const passwordVariable = "PGPASSWORD"

// StoreAddress returns the address of the PostgreSQL database, with its password; "": the database is in the data folder.
func StoreAddress(s *Settings) (string, error) {
	address, _, err := s.Resolve(s.Store)
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	return address, nil
}

// storePassword returns the password of the store's address; "" if there is none.
func (s *Settings) storePassword() string {
	address, _, _ := s.Resolve(s.Store) // the error is reported where the address is used
	a, err := postgres.Parse(address)
	if err != nil {
		return address // it may have one
	}
	return a.Password()
}

// schemaName is the form of a schema's name, which needs no quotes in statements.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// SchemaForm says what the name of a schema must be.
const SchemaForm = `be of lower-case letters, digits and "_", e.g. "cairn"`

// IsSchema reports whether a schema may have this name.
func IsSchema(name string) bool {
	return schemaName.MatchString(name) && !strings.HasPrefix(name, "pg_")
}

// checkStore reports an address that cannot be used, and warns of a password in plain text and of weak encryption.
func (c *checker) checkStore() {
	c.report.must(IsSchema(c.s.Schema), "schema", c.s.Schema, SchemaForm)
	if c.s.Store == "" {
		return
	}
	address, plain, err := c.s.Resolve(c.s.Store)
	if err != nil {
		c.report.problem("store", fmt.Sprintf("store: %v", err))
		return
	}
	a, err := postgres.Parse(address)
	if err != nil {
		c.report.problem("store", fmt.Sprintf("store: the address %v; leave it empty for SQLite in data_dir", err))
		return
	}
	if plain && a.Password() != "" {
		c.report.warn("store", `store: the password is in this file in plain text; move the address to a file and write "file:PATH", or to a variable and write "env:NAME"`)
	}
	if warning := a.Warning(); warning != "" {
		c.report.warn("store", "store: "+warning)
	}
}
