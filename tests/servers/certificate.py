"""Certificates that no authority signed, for servers that speak TLS."""

from __future__ import annotations

import ipaddress
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    """PEM files: the certificate, which is its own authority, and its key."""

    path: Path
    key: Path

    @property
    def arguments(self) -> list[str]:
        """What `headrace serve` is given to use it."""
        return ["--tls-cert", str(self.path), "--tls-key", str(self.key)]


def make_certificate(folder: Path, host: str = "127.0.0.1") -> Certificate:
    """Makes a certificate that covers `host` and no other name, by the openssl command."""
    certificate = Certificate(folder / f"{host}.pem", folder / f"{host}.key")
    try:
        name = f"IP:{ipaddress.ip_address(host)}"
    except ValueError:
        name = f"DNS:{host}"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", f"/CN={host}", "-addext", f"subjectAltName={name}"),
            *("-keyout", str(certificate.key), "-out", str(certificate.path)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate
