package main

import (
	"bytes"
	stdlog "log"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2"
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
	out, terminal := rawStream(m.Stderr), m.isTerminal(m.Stderr) // the log quotes the words of others itself
	log := zerolog.New(out)
	if cfg.Log.Format == config.LogText || terminal && cfg.Log.Format == config.LogAuto {
		log = zerolog.New(zerolog.ConsoleWriter{Out: out, TimeFormat: time.DateTime, NoColor: !terminal})
	}
	log = log.Level(zerolog.TraceLevel).With().Timestamp().Logger().Sample(level)
	stdlog.SetFlags(0)
	stdlog.SetOutput(libraryLines{log})
	return log, level
}

// tieLibraries gives Bleve Go's own logger, whose lines become part of the program's log. It is
// called once, before anything else runs.
func tieLibraries() { bleve.SetLog(stdlog.Default()) }

// libraryLines logs the lines of libraries, such as Bleve, that write to Go's own logger.
type libraryLines struct{ log zerolog.Logger }

// Write logs a line, without the bytes of an answer that net/http quotes in it when a
// service sends more than it announced: they may be meetings.
func (l libraryLines) Write(line []byte) (int, error) {
	report, _, _ := bytes.Cut(line, []byte(" starting with "))
	l.log.Warn().Bytes("line", bytes.TrimSpace(report)).Msg("a library reports")
	return len(line), nil
}
