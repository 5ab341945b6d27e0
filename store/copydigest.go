// Comparing a store with its copy, by counts and digests of all rows.

package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// digest is the sum of the hashes of rows, so their order does not matter. Texts may be in another order once they are storable.
type digest struct {
	rows int64
	sum  [4]uint64
}

func (d *digest) add(row []byte) {
	d.rows++
	hash := sha256.Sum256(row)
	for i := range d.sum {
		d.sum[i] += binary.BigEndian.Uint64(hash[8*i:])
	}
}

func (d *digest) String() string {
	return fmt.Sprintf("%016x%016x%016x%016x", d.sum[0], d.sum[1], d.sum[2], d.sum[3])
}

// encodeRow appends a row in bytes that no other row has.
func encodeRow(to []byte, row []any) []byte {
	for _, value := range row {
		switch v := value.(type) {
		case nil:
			to = append(to, 'n')
		case int64:
			to = binary.BigEndian.AppendUint64(append(to, 'i'), uint64(v))
		case float64:
			to = binary.BigEndian.AppendUint64(append(to, 'f'), math.Float64bits(v+0)) // SQLite stores no -0
		case string:
			to = append(binary.BigEndian.AppendUint64(append(to, 't'), uint64(len(v))), v...)
		case []byte:
			to = append(binary.BigEndian.AppendUint64(append(to, 'b'), uint64(len(v))), v...)
		default:
			panic(fmt.Sprintf("a column has a value of the type %T", v)) // no column of the schema can
		}
	}
	return to
}

// digest reads all rows of a table.
func (t *copiedTable) digest(tx *Tx, show func(rows int64)) (d digest) {
	var buffer []byte
	t.each(tx, nil, func(rows [][]any) {
		for _, row := range rows {
			buffer = encodeRow(buffer[:0], row)
			d.add(buffer)
		}
		show(int64(len(rows)))
	})
	return d
}

// compare returns what both databases have of each table. The transaction fails if they differ.
func (c *copier) compare(in *Tx) (copied []CopiedTable) {
	c.state.Compared = true
	c.state.Done = 0
	for _, t := range c.plan {
		if !in.live() {
			return nil
		}
		var theirs digest
		var err error
		var side sync.WaitGroup
		side.Go(func() {
			err = c.target.View(c.ctx, func(out *Tx) { theirs = t.digest(out, func(int64) {}) })
		})
		ours := t.digest(in, c.progress)
		side.Wait()
		in.Fail(err)
		if in.live() && ours != theirs {
			in.Fail(fmt.Errorf("the table %s differs: the source has %d rows with the digest %v, the copy %d with %v: %s; delete the copy, and copy anew",
				t.name, ours.rows, &ours, theirs.rows, &theirs, c.difference(in, t)))
		}
		copied = append(copied, CopiedTable{t.name, ours.rows, ours.String()})
	}
	return copied
}

// difference says which row of a table is the first that differs.
func (c *copier) difference(in *Tx, t copiedTable) (text string) {
	in.Fail(c.target.View(c.ctx, func(out *Tx) {
		var key, otherKey []any
		for in.live() && out.live() {
			rows := t.page(in, key, batchRows)
			others := t.page(out, otherKey, batchRows)
			same := 0
			for same < min(len(rows), len(others)) && t.equal(rows[same], others[same]) {
				same++
			}
			if same < len(rows) && same < len(others) || same == 0 {
				text = "the first difference is " + t.describeRow(rows[same:]) + " in the source, " + t.describeRow(others[same:]) + " in the copy"
				return
			}
			key = pick(rows[same-1], t.key)
			otherKey = pick(others[same-1], t.key)
		}
	}))
	return text
}

func (t *copiedTable) equal(row, other []any) bool {
	makeStorable(row)
	return slices.Equal(encodeRow(nil, row), encodeRow(nil, other))
}

// describeRow names the first of rows by its key.
func (t *copiedTable) describeRow(rows [][]any) string {
	if len(rows) == 0 {
		return "no row"
	}
	var parts []string
	for _, place := range t.key {
		parts = append(parts, fmt.Sprintf("%s %v", strings.Trim(t.columns[place], `"`), rows[0][place]))
	}
	return "the row with " + strings.Join(parts, ", ")
}
