// Package config reads config.toml.
//
// Values come from three places, each over the one before: the defaults, the
// file, the environment. The file is decoded strictly: a key that is not known
// is an error that names the key, its line and its column, because a
// misspelt setting that is silently ignored is how an archive ends up
// incomplete. Validation happens once, in Load, so that the rooms above may
// trust what they are handed.
//
// Nothing is written here and nothing is kept between calls: a crash has
// nothing to lose.
package config
