package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// changeClaims takes what the rollout claims anew and gives back the database
// that it claims no more. A flag key is never given back.
func changeClaims(ctx context.Context, tx *sql.Tx, name string, before, after []rollout.Claim) error {
	for _, claim := range after {
		if slices.Contains(before, claim) {
			continue
		}
		if err := take(ctx, tx, name, claim); err != nil {
			return err
		}
	}
	for _, claim := range before {
		if claim.Kind == rollout.ClaimFlag || slices.Contains(after, claim) {
			continue
		}
		const query = `DELETE FROM claims WHERE kind = ? AND name = ? AND holder = ?`
		if _, err := tx.ExecContext(ctx, query, string(claim.Kind), claim.Name, name); err != nil {
			return fmt.Errorf("giving back %s %s: %w", claim.Kind, claim.Name, err)
		}
	}
	return nil
}

func take(ctx context.Context, tx *sql.Tx, name string, claim rollout.Claim) error {
	if err := checkName(string(claim.Kind), claim.Name); err != nil {
		return err
	}
	var holder string
	const query = `SELECT holder FROM claims WHERE kind = ? AND name = ?`
	switch err := tx.QueryRowContext(ctx, query, string(claim.Kind), claim.Name).Scan(&holder); {
	case err == nil && holder == name:
		return nil
	case err == nil:
		return rollout.Locked{Claim: claim, Holder: holder}
	case !errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("looking for who holds %s %s: %w", claim.Kind, claim.Name, err)
	}
	const insert = `INSERT INTO claims (kind, name, holder) VALUES (?, ?, ?)`
	if _, err := tx.ExecContext(ctx, insert, string(claim.Kind), claim.Name, name); err != nil {
		return fmt.Errorf("claiming %s %s: %w", claim.Kind, claim.Name, err)
	}
	return nil
}
