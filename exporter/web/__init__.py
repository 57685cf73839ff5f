"""Contains the HTTP server, its security and its pages. See docs/http-server.md for the design."""
