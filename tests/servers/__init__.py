"""The servers that the tests run against; each a context manager on free ports of 127.0.0.1.

Only the standard library is used here, so that any environment can import it; SeaweedFS and moto
run out of `.venv-clients` (see `tests/requirements-clients.txt`).
"""

from .certificate import Certificate, make_certificate
from .credentials import Credentials, EcsServer, ImdsServer, StsServer
from .forward_proxy import ForwardProxy
from .process import ServerError
from .proxy import Answer, Close, Edit, Proxy, Request, Response, once
from .s3 import EmbeddedServer, MotoServer, S3Server, SeaweedServer

__all__ = [
    "Answer",
    "Certificate",
    "Close",
    "Credentials",
    "EcsServer",
    "Edit",
    "EmbeddedServer",
    "ForwardProxy",
    "ImdsServer",
    "MotoServer",
    "Proxy",
    "Request",
    "Response",
    "S3Server",
    "SeaweedServer",
    "ServerError",
    "StsServer",
    "make_certificate",
    "once",
]
