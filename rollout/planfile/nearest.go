package planfile

import "strings"

// nearest returns the name that another was probably meant for.
func nearest(name string, names []string) (string, bool) {
	best, found := 3, "" // more than two slips make another word
	name = strings.ReplaceAll(strings.ToLower(excerpt(name)), "-", "_")
	for _, candidate := range names {
		if slips := distance(name, candidate); slips < min(best, len(candidate)) {
			best, found = slips, candidate
		}
	}
	return found, found != ""
}

// distance counts the letters to add, drop or change to make one word of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
