"""Values of the field Accept-Encoding, with the encoding of a response to each of them."""

#: Pairs of the value and the encoding; an empty encoding means that nothing is compressed.
ACCEPT_ENCODINGS = [
    ("", ""),
    ("gzip", "gzip"),
    ("GZIP", "gzip"),
    ("br, gzip", "gzip"),
    ("gzip;q=0.5", "gzip"),
    ("deflate, gzip;q=0.5, br", "gzip"),
    ("deflate, gzip;q=1.0, *;q=0.5", "gzip"),
    ("gzip;q=0", ""),
    ("gzip; q=0", ""),
    ("gzip; q=0.0", ""),
    ("gzip;Q=0", ""),
    ("gzip;q=nonsense", ""),
    ("*", "gzip"),
    ("*;q=0", ""),
    ("*;q=0, gzip", "gzip"),
    ("*, gzip;q=0", ""),
    ("identity", ""),
    ("deflate, br, zstd", ""),
    ("gzipped", ""),
    ("notgzip", ""),
    (",;,=;q", ""),
]
