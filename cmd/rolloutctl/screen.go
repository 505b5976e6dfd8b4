package main

import (
	"cmp"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// signs are what states and bars are drawn with; each differs by its shape, so
// that nothing is said by colour alone.
type signs struct {
	ok, bad, present, coming, later, held, near, unknown string
	full, light, arrow, atMost, atLeast                  string
	sparks                                               string // from low to high; none in ASCII
}

func unicodeSigns() signs {
	return signs{
		ok: "✔", bad: "✖", present: "●", coming: "○", later: "·", held: "∥", near: "▲", unknown: "?",
		full: "█", light: "░", arrow: "→", atMost: "≤", atLeast: "≥", sparks: "▁▂▃▄▅▆▇█",
	}
}

func asciiSigns() signs {
	return signs{
		ok: "+", bad: "x", present: "*", coming: "o", later: ".", held: "=", near: "!", unknown: "?",
		full: "#", light: "-", arrow: "->", atMost: "<=", atLeast: ">=",
	}
}

// screen is where lines go.
type screen struct {
	signs
	ascii    bool
	coloured bool
	terminal bool
	size     func() (width, height int)
}

// newScreen finds out what an output can show. Stdout and stderr are judged
// apart: one of them may go to a file.
func newScreen(out io.Writer, o *Options) screen {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	dumb := os.Getenv("TERM") == "dumb"
	s := screen{signs: unicodeSigns(), ascii: o.ASCII || dumb || locale == "C" || locale == "POSIX"}
	if s.ascii {
		s.signs = asciiSigns()
	}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		s.terminal = !dumb
		s.size = func() (int, int) {
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil || width <= 0 || height <= 0 {
				return 80, 24
			}
			return width, height
		}
	}
	s.coloured = coloured(o.Color, s.terminal)
	return s
}

// coloured says whether to use colour: the flag wins over the environment, and
// that over what the output is.
func coloured(flag string, terminal bool) bool {
	force := os.Getenv("CLICOLOR_FORCE")
	switch {
	case flag == "always":
		return true
	case flag == "never", os.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	default:
		return terminal && os.Getenv("CLICOLOR") != "0"
	}
}

// print writes lines; where they cannot be written, nobody is left to tell.
func (s *screen) print(w io.Writer, lines []string) {
	_, _ = io.WriteString(w, s.text(lines))
}

// text are lines as they are shown.
func (s *screen) text(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(s.paint(s.clean(line)) + "\n")
	}
	return b.String()
}

// clean takes out what would act on the terminal: some of the text comes from
// people and from other systems.
func (s *screen) clean(line string) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r): // Cf: those that turn the direction of text
			return '?'
		case s.ascii && r > unicode.MaxASCII:
			return '?'
		}
		return r
	}, s.plain(line)), " ")
}

// plain writes the signs of others in ASCII where that is wanted.
func (s *screen) plain(line string) string {
	if !s.ascii {
		return line
	}
	return strings.NewReplacer("≤", "<=", "≥", ">=", "→", "->", "…", "...", "–", "-", "−", "-").Replace(line)
}

// paint adds colour to signs.
func (s *screen) paint(line string) string {
	if !s.coloured {
		return line
	}
	const red, green, yellow, blue, off = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[0m"
	return strings.NewReplacer(
		"✔", green+"✔"+off, "✖", red+"✖"+off, "▲", yellow+"▲"+off, "∥", yellow+"∥"+off, "●", blue+"●"+off,
	).Replace(line)
}

// table lines up columns; those whose head begins with a blank are right-aligned.
func table(indent string, rows [][]string) []string {
	var widths []int
	right := map[int]bool{}
	for i, cell := range rows[0] {
		rows[0][i], right[i] = strings.TrimPrefix(cell, " "), strings.HasPrefix(cell, " ")
	}
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		var b strings.Builder
		b.WriteString(indent)
		for i, cell := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if right[i] {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}
