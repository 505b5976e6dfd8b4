package journal

import "database/sql"

// DB returns the connections of a journal, for tests that ask what they are like.
func (j *Journal) DB() *sql.DB { return j.db }
