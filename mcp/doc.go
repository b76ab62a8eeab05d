// Package mcp offers the archive to assistants as tools of the Model Context
// Protocol: search, list and read meetings, and list what was agreed to be done.
//
// It promises to read only: no tool changes anything. Every answer is bounded,
// says where it goes on, and names recording_id and offset, so that an assistant
// can point to the second where something was said. What meetings hold is told
// apart as data in the server's instructions; it comes from whoever spoke.
//
// The package holds no state: every message stands alone, over HTTP as over
// standard input and output, so that a session outlives the daemon's restart.
package mcp
