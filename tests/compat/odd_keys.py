"""Keys that break clients and servers which treat a key as a path, a URL or XML."""

ODD_KEYS = [
    "plain",
    "with space",
    "a+b",
    "a%2Bb",
    "100%25.txt",
    "100%",
    "q?x=1&y=2",
    "frag#ment",
    "quo\"te'`",
    "semi;colon:at@comma,",
    "[brackets] {braces} <angle>",
    "back\\slash",
    "d//a",
    "/leading",
    "//two",
    "trailing/",
    "./dot",
    "../up",
    "a/../b",
    "a/./b",
    "..",
    "~tilde$!*()|^",
    "\u00fcber",  # precomposed
    "u\u0308ber",  # decomposed
    "\u65e5\u672c\u8a9e/\U0001f30a",
    " leading and trailing space ",
    "new\nline",
    "tab\tand\rreturn",
    "control\x01\x1f\x7f",
    "x" * 1024,
]
