package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (m *Main) versionCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if m.json {
				return json.NewEncoder(m.Stdout).Encode(map[string]string{
					"version": m.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
				})
			}
			_, err := fmt.Fprintf(m.Stdout, "minutebook %s (%s, %s/%s)\n", m.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	})
}
