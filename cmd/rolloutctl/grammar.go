package main

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"
)

// newParser reads command lines into a cli.
func newParser(c *cli, to streams) *kong.Kong { return grammar(c, to) }

// parse reads a command line. To build the grammar of all commands takes longer
// than most commands themselves, so that of the command which is named is tried
// alone; whatever is wrong with it, and help, the whole one tells.
func parse(c *cli, args []string, to streams) (*kong.Context, error) {
	if !slices.ContainsFunc(args, func(arg string) bool { return arg == "-h" || arg == "--help" }) {
		if alone, o := narrow(c, args, to); alone != nil {
			if parsed, err := alone.Parse(args); err == nil {
				c.Options = *o
				return parsed, nil
			}
			*c = cli{}
		}
	}
	return newParser(c, to).Parse(args)
}

// narrow is the grammar of the one command that a command line begins with, and
// where the flags of all commands go; nil if it begins with none.
func narrow(c *cli, args []string, to streams) (*kong.Kong, *Options) {
	if len(args) == 0 {
		return nil, nil
	}
	fields := reflect.TypeFor[cli]()
	for i := range fields.NumField() {
		field := fields.Field(i)
		if _, is := field.Tag.Lookup("cmd"); !is || commandName(field) != args[0] {
			continue
		}
		var flags struct{ Options }
		command := reflect.ValueOf(c).Elem().Field(i).Addr().Interface()
		return grammar(&flags, to, kong.DynamicCommand(args[0], field.Tag.Get("help"), "", command)), &flags.Options
	}
	return nil, nil
}

// commandName is what a command of the cli is called: hold-all for HoldAll.
func commandName(field reflect.StructField) string {
	if name := field.Tag.Get("name"); name != "" {
		return name
	}
	var b strings.Builder
	for i, r := range field.Name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// grammar builds the grammar of a struct.
func grammar(of any, to streams, more ...kong.Option) *kong.Kong {
	parser, err := kong.New(of, append([]kong.Option{
		kong.Name("rolloutctl"), kong.Description(description()),
		kong.Writers(to.out, to.err), kong.Exit(os.Exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
	}, more...)...)
	if err != nil {
		panic("the grammar of the command line is wrong: " + err.Error()) // every test would show it
	}
	return parser
}
