// Package config reads config.toml.
//
// Values come from three places, and a later one replaces an earlier one: the
// defaults, the file, the environment. The file is decoded strictly: an unknown
// key is an error that names the key, its line and its column, because a misspelt
// setting that is silently ignored leaves an archive incomplete. Validation
// happens once, in [Load], so that the rooms above may trust a [Config].
//
// Nothing is written here and nothing is kept between calls: a crash has
// nothing to lose.
package config
