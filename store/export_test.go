package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"cairn/store/postgres"
	"cairn/transcript"
)

// What the tests of this package use besides what it exports.

const (
	BeforeTheStart = beforeTheStart
	FirstVersion   = firstVersion
	Closed         = closed
	EraseWithin    = eraseWithin
	DatabaseName   = databaseName
	IsHere         = duplicateOf
	LockName       = lockName
	MostOfName     = maxAuthorBytes
	ReaderPragmas  = readerPragmas
	Retire         = retire
	MaxSessions    = maxSessions
	ToRead         = toRead
	ToWrite        = toWrite
	CopyPart       = partPrefix
	WasRead        = wasRead
	WriterPragmas  = writerPragmas
)

// Derived lists the tables derived from others: the search index, and who speaks where.
var Derived = []string{"message_terms", "memory_terms", "members"}

var (
	CheckRoom     = checkRoom
	CountTerms    = countTerms
	ErrNoRoom     = errNoRoom
	Fills         = fills
	Migrations    = migrations
	NextQuietHour = nextQuietHour
	OpenFile      = open
	Purged        = purged
	OfProcesses   = ofProcesses
	ReadOnly      = readOnly
	PutAside      = moveAside
	SourceOf      = sourceOf
	Transact      = transact
)

func (u Upkeep) EraseAt(ctx context.Context, now time.Time) (when time.Time, due bool, err error) {
	return u.eraseAt(ctx, now)
}

func (s *Store) Writing() *sql.DB { return s.write }

// UseConnections replaces the connections of a new store.
func (s *Store) UseConnections(write, read *sql.DB) {
	s.write.Close()
	s.read.Close()
	s.write, s.read = write, read
	s.write.SetMaxOpenConns(1)
}

func (s *Store) Path() string { return s.engine.place() }

func (s *Store) EmptyLog(ctx context.Context) error { return s.engine.(*sqlite).emptyLog(ctx) }

// Arrivals returns how many waiting messages have their arrival time in memory.
func (s *Store) Arrivals() (n int) {
	s.arrivals.Range(func(any, any) bool { n++; return true })
	return n
}

// RequirePostgres sets the oldest version of PostgreSQL until restore is called.
func RequirePostgres(version int) (restore func()) {
	known := oldestPostgres
	oldestPostgres = version
	return func() { oldestPostgres = known }
}

// AddMigrations adds migrations until restore is called.
func AddMigrations(more ...string) (restore func()) {
	known := migrations
	migrations = append(slices.Clone(known), more...)
	return func() { migrations = known }
}

func (t *Tx) Do(query string, args ...any) (changed bool) { return t.changed(query, args...) }

func (t *Tx) Require(err error, query string, args ...any) { t.require(err, query, args...) }

func (t *Tx) Wrote() int64 { return t.wrote() }

// Queue is Do for a statement whose result nobody waits for.
func (t *Tx) Queue(query string, args ...any) { t.do(query, args...) }

// Found reads the columns of the first row of a query, and reports whether there is one.
func Found(tx *Tx, query string, columns ...any) bool { return tx.row(query).Found(columns...) }

// Scan is Found for a query that must have a row.
func Scan(tx *Tx, query string, columns ...any) { tx.row(query).Scan(columns...) }

func Get[T any](tx *Tx, query string) T { return getValue[T](tx, query) }

func Values[T any](tx *Tx, query string) []T { return listValues[T](tx, query) }

func Each(tx *Tx, scan func(*sql.Rows) error, query string, args ...any) {
	eachRow(tx, scan, query, args...)
}

func (ss Summaries) Read(rest string) []transcript.Summary { return ss.read(rest) }

// UpdateColumns writes the named columns of a row of the compactions.
func (t *Tx) UpdateColumns(row RecordedSummary, names ...string) {
	Summaries{tx: t}.update(row, names...)
}

// Trips returns how often the connections of a store have waited for PostgreSQL.
func (s *Store) Trips() (n int64, err error) {
	for db, size := range map[*sql.DB]int{s.write: 1, s.read: readers} {
		for range size {
			conn, connErr := db.Conn(context.Background())
			if connErr != nil {
				return 0, connErr
			}
			defer conn.Close() // after all, so that each is another one
			err = errors.Join(err, conn.Raw(func(driver any) error {
				if c, ok := driver.(*postgres.Conn); ok {
					n += c.Trips()
				}
				return nil
			}))
		}
	}
	return n, err
}

// CopyInBatches sets how many rows and bytes a batch of a copy has until restore is called.
func CopyInBatches(rows int, bytes int64) (restore func()) {
	knownRows, knownBytes := batchRows, batchBytes
	batchRows, batchBytes = rows, bytes
	return func() { batchRows, batchBytes = knownRows, knownBytes }
}

// CopyBatches returns how many rows each batch of a copy of a table has.
func CopyBatches(ctx context.Context, s *Store, table string) (rows []int, err error) {
	plan, err := copyPlan(ctx)
	if err != nil {
		return nil, err
	}
	t := plan[slices.IndexFunc(plan, func(t copiedTable) bool { return t.name == table })]
	err = s.View(ctx, func(tx *Tx) {
		t.each(tx, nil, func(batch [][]any) { rows = append(rows, len(batch)) })
	})
	return rows, err
}

// EncodeRow and DigestOf are how a copy compares rows.
func EncodeRow(values ...any) string { return string(encodeRow(nil, values)) }

func DigestOf(rows ...string) string {
	var d digest
	for _, row := range rows {
		d.add([]byte(row))
	}
	return d.String()
}
