package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/caarlos0/env/v11"
	"github.com/pelletier/go-toml/v2"
)

// dataDirLine matches the line of a file that sets data_dir.
var dataDirLine = regexp.MustCompile(`(?m)^[ \t]*data_dir[ \t]*=[^\r\n]*`)

// FindDataDir returns the data directory that [Load] finds by the same arguments, also
// where something else is wrong with the configuration. It fails where nothing names one.
func FindDataDir(path, dataDir string, environ []string) (string, error) {
	if dataDir != "" {
		return filepath.Abs(dataDir)
	}
	c := Config{DataDir: env.ToMap(environ)[envPrefix+"DATA_DIR"]}
	if c.DataDir == "" {
		raw, err := readFile(path)
		if err != nil {
			return "", fmt.Errorf("read configuration: %w", err)
		}
		if err := toml.Unmarshal(dataDirLine.Find(raw), &c); err != nil || c.DataDir == "" {
			return "", errors.New("find the archive: the configuration has no line such as data_dir = \"data\"")
		}
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	return anchor(folder, c.DataDir), err
}
