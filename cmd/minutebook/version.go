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
			_, err := fmt.Fprint(m.Stdout, m.describeVersion())
			return err
		},
	})
}

// describeVersion returns the version in a line.
func (m *Main) describeVersion() string {
	return fmt.Sprintf("minutebook %s (%s, %s/%s)\n", m.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
