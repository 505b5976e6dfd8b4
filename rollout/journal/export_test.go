package journal

import "database/sql"

// DB returns the connections of a journal, for tests that ask what they are like.
func (j *Journal) DB() *sql.DB { return j.db }

// Search makes a statement of a query, for tests that ask how it is run.
var Search = search
