// Search: memories without a query.

package memory

import "database/sql"

// newest chooses without a query.
func newest(tx *transaction, f Filter, in scope) (order []weighed, err error) {
	chosen, args := f.where(in)
	err = each(tx, func(rows *sql.Rows) error {
		var m weighed
		err := rows.Scan(&m.id)
		order = append(order, m)
		return err
	}, "SELECT id FROM memories WHERE "+chosen+" ORDER BY said_at DESC, id DESC", args...)
	return order, err
}
