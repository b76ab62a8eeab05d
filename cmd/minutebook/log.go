package main

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"minutebook/config"
)

// logLevel is the level from which on lines are logged. It can change while the
// loggers that sample by it are in use.
type logLevel struct{ level atomic.Int32 }

// set changes the level to the one of that name, info where there is none.
func (l *logLevel) set(name string) {
	level, err := zerolog.ParseLevel(name)
	if err != nil {
		level = zerolog.InfoLevel
	}
	l.level.Store(int32(level))
}

// Sample implements [zerolog.Sampler].
func (l *logLevel) Sample(level zerolog.Level) bool { return int32(level) >= l.level.Load() }

// logger writes to standard error, as the configuration says.
func (m *Main) logger(cfg *config.Config) zerolog.Logger {
	log, _ := m.adjustableLogger(cfg)
	return log
}

// adjustableLogger is logger with its level, which can be changed.
func (m *Main) adjustableLogger(cfg *config.Config) (zerolog.Logger, *logLevel) {
	level := new(logLevel)
	level.set(cfg.Log.Level)
	var log zerolog.Logger
	if cfg.Log.Format == "console" {
		log = zerolog.New(zerolog.ConsoleWriter{Out: m.Stderr, TimeFormat: time.DateTime, NoColor: !m.isTerminal(m.Stderr)})
	} else {
		log = zerolog.New(m.Stderr)
	}
	return log.Level(zerolog.TraceLevel).With().Timestamp().Logger().Sample(level), level
}
