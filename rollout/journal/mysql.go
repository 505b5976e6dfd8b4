package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/seed-c8cbbb61/cutover/migrations"
)

// Limits on the network. Reading may take longer than a call: a call's context
// ends it first, and says so better than a broken connection.
const (
	dialWithin = 3 * time.Second
	sendWithin = 2 * callWithin
)

func openMySQL(ctx context.Context, dsn string, source func(context.Context) string, log *slog.Logger) (*Journal, error) {
	config, err := mysqlConfig(dsn, log)
	if err == nil {
		err = config.Apply(mysql.BeforeConnect(renewing(source, log)))
	}
	if err != nil {
		return nil, fmt.Errorf("opening the journal on MySQL: %w", err)
	}
	if err := prepareMySQL(ctx, config); err != nil {
		return nil, fmt.Errorf("opening the journal on MySQL at %s: %w", config.Addr, err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("opening the journal on MySQL at %s: %w", config.Addr, err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(4)
	db.SetConnMaxIdleTime(time.Minute)
	db.SetConnMaxLifetime(5 * time.Minute)
	log.InfoContext(ctx, "journal opened", "database", "mysql", "address", config.Addr)
	return newJournal(db), nil
}

// prepareMySQL makes sure that the server answers, and migrates. It has its own
// connections: a change of the schema may be silent for longer than a call.
func prepareMySQL(ctx context.Context, config *mysql.Config) (err error) {
	patient := config.Clone()
	patient.ReadTimeout = migrateWithin
	connector, err := mysql.NewConnector(patient)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()

	answer, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	if err := db.PingContext(answer); err != nil {
		return fmt.Errorf("connecting within %v: %w", callWithin, err)
	}
	return migrate(ctx, db, migrations.MySQL)
}

// renewing takes user and password anew for each connection.
func renewing(source func(context.Context) string, log *slog.Logger) func(context.Context, *mysql.Config) error {
	return func(ctx context.Context, c *mysql.Config) error {
		_, dsn, _ := strings.Cut(source(ctx), ":")
		now, err := mysqlConfig(dsn, log)
		switch {
		case err != nil:
			log.WarnContext(ctx, "the journal's source is wrong now; the first one stays good", "err", err)
		case now.Net != c.Net || now.Addr != c.Addr || now.DBName != c.DBName:
			log.WarnContext(ctx, "the journal's source names another database now; restart for that", "address", now.Addr)
		default:
			c.User, c.Passwd = now.User, now.Passwd
		}
		return nil
	}
}

// mysqlConfig takes from a DSN where to connect, as whom and how patiently; how
// to talk is ours to say. No setting becomes a SET at connect, which would pin
// the session in a pooling proxy; nor do statements, which are not prepared.
func mysqlConfig(dsn string, log *slog.Logger) (*mysql.Config, error) {
	given, err := mysql.ParseDSN(dsn)
	if err != nil || given.DBName == "" {
		// The cause may quote the DSN, and so a password: it is left out.
		return nil, errors.New("the DSN cannot be read (it is not repeated here); it must be USER:PASSWORD@tcp(HOST:PORT)/DATABASE, " +
			"and may go on with ?tls=true, timeout, readTimeout or writeTimeout")
	}
	if len(given.Params) > 0 {
		names := slices.Sorted(maps.Keys(given.Params))
		return nil, fmt.Errorf("the DSN has unknown parameters %s: only those of the driver are allowed, none that sets a variable of the session", strings.Join(names, ", "))
	}
	c := mysql.NewConfig()
	c.User, c.Passwd = given.User, given.Passwd
	c.Net, c.Addr, c.DBName = given.Net, given.Addr, given.DBName
	c.TLS, c.TLSConfig, c.ServerPubKey = given.TLS, given.TLSConfig, given.ServerPubKey
	c.AllowCleartextPasswords = given.AllowCleartextPasswords
	c.AllowFallbackToPlaintext = given.AllowFallbackToPlaintext
	c.Timeout = orElse(given.Timeout, dialWithin)
	c.ReadTimeout = orElse(given.ReadTimeout, sendWithin)
	c.WriteTimeout = orElse(given.WriteTimeout, sendWithin)

	c.Collation = "utf8mb4_bin" // said in the handshake, without a SET
	c.ParseTime = true          // the lock of the migrations needs it
	c.ClientFoundRows = true    // rows affected are rows matched, as on SQLite
	c.InterpolateParams = true  // one round trip a statement
	c.RejectReadOnly = true     // a demoted writer's connection is given up
	c.Logger = driverLog{log: log}
	return c, nil
}

func orElse(given, otherwise time.Duration) time.Duration {
	if given > 0 {
		return given
	}
	return otherwise
}

// driverLog passes on what the driver has to say of its connections.
type driverLog struct{ log *slog.Logger }

// Print is called with the parts of a message.
func (d driverLog) Print(parts ...any) {
	d.log.Warn("mysql connection", "why", fmt.Sprint(parts...))
}
