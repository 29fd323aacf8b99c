"""Proves that layering.py bites: each test feeds it one violation and reads its verdict."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import layering


class LayeringTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.links = {
            "base": frozenset[str](),
            "net": frozenset({"base"}),
            "s3": frozenset({"net"}),
            "devserver": frozenset({"base"}),
        }
        for module in self.links:
            self.write(f"src/{module}/a.h", "#pragma once\n")
        self.write("src/s3/a.cc", '#include "s3/a.h"\n#include "base/a.h"\n#include "net/a.h"\n')

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def errors(self) -> list[str]:
        return layering.check(self.root, self.links)

    def assert_one(self, *parts: str) -> None:
        errors = self.errors()
        self.assertEqual(len(errors), 1, errors)
        for part in parts:
            self.assertIn(part, errors[0])

    def test_passes_what_is_allowed(self) -> None:
        self.assertEqual(self.errors(), [])

    def test_refuses_an_upward_include(self) -> None:
        self.write("src/base/b.h", '#pragma once\n#include "s3/a.h"\n')
        self.assert_one("src/base/b.h:2", "base may not include s3/a.h")

    def test_refuses_the_dev_server_a_look_at_the_client(self) -> None:
        self.write("src/devserver/sign.cc", '\n#  include "s3/a.h"\n')
        self.assert_one("src/devserver/sign.cc:2")

    def test_refuses_an_include_without_its_link_edge(self) -> None:
        self.links["s3"] = frozenset({"base"})
        self.assert_one("src/s3/a.cc:3", "does not link net")

    def test_refuses_a_link_edge_that_the_design_forbids(self) -> None:
        self.links["devserver"] = frozenset({"base", "net"})
        self.assert_one("devserver links net")

    def test_counts_public_headers_as_their_owners(self) -> None:
        self.write("src/net/b.cc", '#include "headrace/status.h"\n')
        self.assertEqual(self.errors(), [])
        self.write("src/net/b.cc", '#include "headrace/client.h"\n')
        self.assert_one("net may not include headrace/client.h")

    def test_lets_tests_include_what_they_like(self) -> None:
        self.write("src/base/a_test.cc", '#include "s3/a.h"\n')
        self.assertEqual(self.errors(), [])

    def test_keeps_python_and_the_public_headers_to_the_public_api(self) -> None:
        self.write("python/module.cc", '#include "headrace/client.h"\n')
        self.assertEqual(self.errors(), [])
        self.write("python/module.cc", '#include "s3/a.h"\n')
        self.write("include/headrace/client.h", '#include "base/a.h"\n')
        self.assertEqual(len(self.errors()), 2)

    def test_names_a_module_that_nobody_knows(self) -> None:
        self.write("src/common/a.h", "#pragma once\n")
        self.assert_one("src/common")


if __name__ == "__main__":
    unittest.main()
