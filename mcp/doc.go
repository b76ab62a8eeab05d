// Package mcp offers the archive to assistants as tools of the Model Context
// Protocol: search, list and read meetings, list action items and people, and count
// trends.
//
// It promises to read only: no tool changes anything. Every answer is bounded,
// says where it goes on or that it is cut, and names recording_id and offset, so that an assistant
// can point to the second where something was said. The server's instructions
// declare the content of meetings to be data, because anyone may have said it.
//
// The package holds no state: every message is answered by itself, over HTTP and
// over standard input and output alike, so that a session outlives the daemon's
// restart.
package mcp
