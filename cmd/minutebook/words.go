package main

import (
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strconv"
	"strings"

	"filippo.io/age"
	"github.com/spf13/pflag"

	"minutebook/config"
	"minutebook/internal/nearest"
	"minutebook/service/fault"
)

// checkedFlag is a text, or texts between commas, of which only some make sense. A wrong
// one is refused before the command does anything.
type checkedFlag struct {
	pflag.Value
	takes  string             // the texts that it takes, in words
	words  []string           // all of them, where they can be counted
	check  func(string) error // of one text
	secret bool               // a wrong text may be one that nobody is to see
}

// Set implements [pflag.Value].
func (f *checkedFlag) Set(text string) error {
	texts := []string{text}
	if f.Type() == "stringSlice" {
		texts = strings.Split(text, ",")
	}
	for _, t := range texts {
		if err := f.check(strings.TrimSpace(t)); err != nil {
			return err
		}
	}
	return f.Value.Set(text)
}

// String implements [pflag.Value]. An empty list is no default to mention.
func (f *checkedFlag) String() string {
	if text := f.Value.String(); text != "[]" {
		return text
	}
	return ""
}

// refuse names the values that the flag takes, and the word that may be meant by a wrong one.
func (f *checkedFlag) refuse(name, wrong string) error {
	if f.secret {
		return fmt.Errorf("--%s takes %s", name, f.takes)
	}
	for w := range strings.SplitSeq(wrong, ",") {
		if near := nearest.Word(w, f.words); near != "" && !slices.Contains(f.words, w) {
			return fmt.Errorf("--%s takes %s, not %q; did you mean %s?", name, f.takes, wrong, near)
		}
	}
	return fmt.Errorf("--%s takes %s, not %q", name, f.takes, wrong)
}

// checkFlag lets a flag take only values that check takes.
func checkFlag(f *pflag.FlagSet, name, takes string, check func(string) error) *checkedFlag {
	flag := f.Lookup(name)
	checked := &checkedFlag{Value: flag.Value, takes: takes, check: check}
	flag.Value, flag.DefValue = checked, checked.String()
	return checked
}

// limitFlag lets a flag take only words of a list.
func limitFlag[W ~string](f *pflag.FlagSet, name string, words ...W) {
	var list []string
	for _, w := range words {
		list = append(list, string(w))
	}
	last := len(list) - 1
	checked := checkFlag(f, name, strings.Join(list[:last], ", ")+" or "+list[last], func(text string) error {
		if !slices.Contains(list, text) {
			return errors.New("another word")
		}
		return nil
	})
	checked.words = list
}

// checkAtMost lets a flag take only numbers up to one.
func checkAtMost(f *pflag.FlagSet, name string, most int) {
	takes := fmt.Sprintf("a whole number from 0 to %d", most)
	checkFlag(f, name, takes, func(text string) error {
		if n, err := strconv.Atoi(text); err != nil || n < 0 || n > most {
			return errors.New("another number")
		}
		return nil
	})
}

// checkListen lets --listen take only addresses to listen on.
func checkListen(f *pflag.FlagSet) {
	checkFlag(f, "listen", "host:port, such as 127.0.0.1:8377", func(text string) error {
		_, _, err := config.SplitListen(text)
		return err
	})
}

// checkAddress lets a flag take only the e-mail address of a person.
func checkAddress(f *pflag.FlagSet, name string) {
	checkFlag(f, name, "an address such as ada@company.example", func(text string) error {
		if parsed, err := mail.ParseAddress(text); err != nil || parsed.Address != text {
			return errors.New("no address")
		}
		return nil
	})
}

// checkRecipients lets --recipient take only public keys. A wrong one may be a secret key.
func checkRecipients(f *pflag.FlagSet) {
	checkFlag(f, "recipient", "a public key as age-keygen prints it (age1…)", func(text string) error {
		_, err := age.ParseRecipients(strings.NewReader(text))
		return err
	}).secret = true
}

// checkFaults lets --faults take only faults that a sandbox understands.
func checkFaults(f *pflag.FlagSet) {
	checkFlag(f, "faults", "name=rate, between commas, as docs/service.md lists them", func(text string) error {
		_, err := fault.Parse(text)
		return err
	})
}
