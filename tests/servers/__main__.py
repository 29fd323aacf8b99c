"""Runs a command with the S3 servers up: `tests/with_servers ctest …`.

Usage: with_servers [--only NAME[,NAME…]] COMMAND [ARGUMENT…]      (embedded, seaweedfs, moto)

The command finds HEADRACE_TEST_{EMBEDDED,SEAWEEDFS,MOTO}_{ENDPOINT,ACCESS_KEY,SECRET_KEY,REGION} in
its environment, and its exit status is this program's.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

from . import EmbeddedServer, MotoServer, S3Server, SeaweedServer, ServerError

KINDS: dict[str, type[S3Server]] = {
    kind.name: kind for kind in (EmbeddedServer, SeaweedServer, MotoServer)
}


def main(arguments: list[str]) -> int:
    names = list(KINDS)
    if arguments[:1] == ["--only"] and len(arguments) > 1:
        names = arguments[1].split(",")
        arguments = arguments[2:]
    unknown = [name for name in names if name not in KINDS]
    if not arguments or arguments[0] in ("-h", "--help") or unknown:
        print(__doc__, file=sys.stderr)
        return 0 if arguments and not unknown else 2

    # A runner's time limit sends SIGTERM: the servers have to go too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    servers = [KINDS[name]() for name in names]
    environment = dict(os.environ)
    with contextlib.ExitStack() as stack:
        try:
            for server in servers:
                stack.enter_context(server)
        except ServerError as error:
            print(f"with_servers: {error}", file=sys.stderr)
            return 1
        for server in servers:
            prefix = f"HEADRACE_TEST_{server.name.upper()}"
            environment[f"{prefix}_ENDPOINT"] = server.endpoint
            environment[f"{prefix}_ACCESS_KEY"] = server.access_key
            environment[f"{prefix}_SECRET_KEY"] = server.secret_key
            environment[f"{prefix}_REGION"] = server.region
        try:
            return subprocess.run(arguments, env=environment, check=False).returncode
        except OSError as error:
            print(f"with_servers: {arguments[0]}: {error.strerror}", file=sys.stderr)
            return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
