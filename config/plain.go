package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

var (
	integerForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	decimalForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	leadingZero = regexp.MustCompile(`^[-+]?0[0-9_]+$`)
	yesAndNo    = regexp.MustCompile(`(?i)^(y|yes|n|no|on|off|true|false)$`)
)

// plainInteger reports what is wrong with the form of a whole number. YAML has
// several that not every reader takes for the same number; here is one.
func plainInteger(text string) error {
	switch {
	case integerForm.MatchString(text):
		return nil
	case leadingZero.MatchString(text):
		return fmt.Errorf("%s is ambiguous, for some readers a leading 0 means octal; write %s", text, withoutZeros(text))
	case strings.ContainsAny(text, "_xXoObB") && startsLikeNumber(text):
		return fmt.Errorf("%s must be written in plain decimal digits", text)
	case decimalForm.MatchString(text):
		return fmt.Errorf("%s is not a whole number", text)
	}
	return fmt.Errorf("%q is not a whole number", text)
}

func startsLikeNumber(text string) bool {
	text = strings.TrimLeft(text, "+-")
	return text != "" && text[0] >= '0' && text[0] <= '9'
}

func withoutZeros(text string) string {
	digits := strings.TrimLeft(strings.TrimLeft(strings.ReplaceAll(text, "_", ""), "+-"), "0")
	if digits == "" {
		return "0"
	}
	if text[0] == '-' {
		return "-" + digits
	}
	return digits
}

// setPlain stores a number, a bool or a string.
func setPlain(v reflect.Value, n *yaml.Node) error {
	switch {
	case v.CanInt():
		return setInteger(v, n)
	case v.CanFloat():
		return setDecimal(v, n)
	case v.Kind() == reflect.Bool:
		return setBool(v, n)
	}
	if err := mustBeText(n); err != nil {
		return err
	}
	v.SetString(n.Value)
	return nil
}

func setInteger(v reflect.Value, n *yaml.Node) error {
	if quoted(n) {
		return fmt.Errorf("%q is text; write the number without quotes", n.Value)
	}
	if err := plainInteger(n.Value); err != nil {
		return err
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil || v.OverflowInt(i) {
		return fmt.Errorf("%s is too large", n.Value)
	}
	v.SetInt(i)
	return nil
}

func setDecimal(v reflect.Value, n *yaml.Node) error {
	if quoted(n) {
		return fmt.Errorf("%q is text; write the number without quotes", n.Value)
	}
	if !decimalForm.MatchString(n.Value) {
		if leadingZero.MatchString(n.Value) {
			return plainInteger(n.Value)
		}
		if whole, isPercent := strings.CutSuffix(n.Value, "%"); isPercent {
			if p, err := strconv.ParseFloat(whole, 64); err == nil {
				return fmt.Errorf("%s must be written as a fraction, %g", n.Value, p/100)
			}
		}
		return fmt.Errorf("%q is not a decimal number", n.Value)
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	if err != nil {
		return fmt.Errorf("%s is too large", n.Value)
	}
	v.SetFloat(f)
	return nil
}

func setBool(v reflect.Value, n *yaml.Node) error {
	switch {
	case quoted(n):
		return fmt.Errorf("%q is text; write true or false without quotes", n.Value)
	case n.Value == "true" || n.Value == "false":
		v.SetBool(n.Value == "true")
		return nil
	case yesAndNo.MatchString(n.Value):
		return fmt.Errorf("%s is a word that not every reader of YAML takes for a truth; write true or false", n.Value)
	}
	return errors.New(allowed(fmt.Sprintf("%q is neither true nor false", n.Value), "true, false"))
}

// mustBeText refuses what YAML takes for something else than text, so that
// what a reader sees and what is meant are the same.
func mustBeText(n *yaml.Node) error {
	if quoted(n) || n.ShortTag() == "!!str" {
		return nil
	}
	return fmt.Errorf("%s is no text for YAML; write it in quotes", n.Value)
}

func quoted(n *yaml.Node) bool {
	return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}
