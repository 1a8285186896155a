package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIRECTORY", Short: "Write a manual page for each command", Args: oneArg("directory"),
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			root.InitDefaultCompletionCmd()
			n := 0
			err := walk(root, func(c *cobra.Command) error {
				n++
				name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
				return os.WriteFile(filepath.Join(args[0], name), []byte(page(c)), 0o644) //nolint:gosec // a manual is for everybody
			})
			if err != nil {
				return fmt.Errorf("the manual: %w", err)
			}
			fmt.Fprintf(c.OutOrStdout(), "%d pages in %s\n", n, args[0])
			return nil
		},
	}
}

// walk visits a command and those below it, but not those that are hidden.
func walk(c *cobra.Command, visit func(*cobra.Command) error) error {
	if err := visit(c); err != nil {
		return err
	}
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			if err := walk(child, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// page is a command's manual page, for troff's man macros.
func page(c *cobra.Command) string {
	var text strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&text, ".TH %q 1 \"\" \"plimsoll %s\" \"Plimsoll\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name), roff(c.Root().Version), roff(name), roff(c.Short))
	fmt.Fprintf(&text, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	if c.Long != "" {
		text.WriteString(".SH DESCRIPTION\n" + strings.ReplaceAll(roff(c.Long), "\n\n", "\n.PP\n") + "\n")
	}
	options(&text, "OPTIONS", c.NonInheritedFlags())
	if c.HasExample() {
		fmt.Fprintf(&text, ".SH EXAMPLE\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	seeAlso(&text, c)
	return text.String()
}

func options(to io.Writer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(to, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(to, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name+" "+kind)), roff(usage))
	})
}

func seeAlso(to io.Writer, c *cobra.Command) {
	var names []string
	if c.HasParent() {
		names = append(names, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))
	}
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, strings.ReplaceAll(child.CommandPath(), " ", "-"))
		}
	}
	for i := range names {
		names[i] = roff(names[i]) + "(1)"
	}
	if len(names) > 0 {
		fmt.Fprintf(to, ".SH SEE ALSO\n%s\n", strings.Join(names, ", "))
	}
}

// roff keeps a text from being read as a request of troff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
