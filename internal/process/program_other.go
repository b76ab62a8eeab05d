//go:build !linux

package process

func releaseProgram() {}
