"""The HTTP server, its security and its pages. docs/http-server.md describes the design."""
