"""Scripted sources of credentials: EC2's IMDSv2, STS, and the container endpoint of ECS and EKS.

Each mints a fresh set per call, so that a test can count the calls (`issued`) and see which set a
client used: session tokens are `token-1`, `token-2`, ….
"""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from urllib.parse import parse_qs

from .scripted import AnsweringServer, Request, Response


@dataclass(frozen=True)
class Credentials:
    access_key: str
    secret_key: str
    session_token: str
    expiration: datetime.datetime

    @property
    def expires(self) -> str:
        return self.expiration.strftime("%Y-%m-%dT%H:%M:%SZ")


class CredentialServer(AnsweringServer):
    """What the three have in common.

    Parameters
    ----------
    access_key, secret_key : str
        What is handed out; give a real server's keys to use them there.
    lifetime : float
        Seconds until a set expires.
    fail : int
        How many calls for credentials are answered by 500 before the first success.
    """

    def __init__(
        self,
        access_key: str = "AKIDMINTED",
        secret_key: str = "minted-secret",
        *,
        lifetime: float = 3600,
        fail: int = 0,
    ) -> None:
        super().__init__()
        self._access_key = access_key
        self._secret_key = secret_key
        self.lifetime = lifetime
        self.fail = fail
        self.issued: list[Credentials] = []

    def mint(self) -> Credentials | None:
        """A fresh set; None while calls are to fail."""
        if self.fail > 0:
            self.fail -= 1
            return None
        now = datetime.datetime.now(datetime.timezone.utc)
        self.issued.append(
            Credentials(
                self._access_key,
                self._secret_key,
                f"token-{len(self.issued) + 1}",
                now + datetime.timedelta(seconds=self.lifetime),
            )
        )
        return self.issued[-1]

    def environment(self) -> dict[str, str]:
        """The variables that lead a client here."""
        raise NotImplementedError


def _json(value: object, status: int = 200) -> Response:
    return Response(status, {"Content-Type": "application/json"}, json.dumps(value).encode())


class ImdsServer(CredentialServer):
    """EC2's instance metadata, version 2 only: a request without a valid token gets 401."""

    role = "training-role"
    region = "eu-west-3"
    token = "imds-session-token"

    def environment(self) -> dict[str, str]:
        return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": self.endpoint}

    def answer(self, request: Request) -> Response:
        if request.path == "/latest/api/token":
            ttl = request.headers.get("x-aws-ec2-metadata-token-ttl-seconds", "")
            if request.method != "PUT" or not ttl.isdigit() or not 1 <= int(ttl) <= 21600:
                return Response(400)
            header = {"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": ttl}
            return Response(200, header, self.token.encode())
        if request.headers.get("x-aws-ec2-metadata-token") != self.token:
            return Response(401)
        folder = "/latest/meta-data/iam/security-credentials/"
        if request.path == folder:
            return Response(body=self.role.encode())
        if request.path == folder + self.role:
            minted = self.mint()
            if minted is None:
                return Response(500)
            return _json(
                {
                    "Code": "Success",
                    "Type": "AWS-HMAC",
                    "AccessKeyId": minted.access_key,
                    "SecretAccessKey": minted.secret_key,
                    "Token": minted.session_token,
                    "Expiration": minted.expires,
                }
            )
        if request.path == "/latest/meta-data/placement/region":
            return Response(body=self.region.encode())
        if request.path == "/latest/dynamic/instance-identity/document":
            return _json({"region": self.region})
        return Response(404)


class EcsServer(CredentialServer):
    """The container endpoint of ECS and of EKS Pod Identity; wants its authorization token."""

    path = "/v2/credentials/task"
    token = "Bearer container-token"

    def environment(self) -> dict[str, str]:
        return {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": self.endpoint + self.path,
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": self.token,
        }

    def answer(self, request: Request) -> Response:
        if request.path != self.path:
            return Response(404)
        if request.headers.get("authorization") != self.token:
            return _json({"code": "AccessDenied", "message": "wrong authorization token"}, 403)
        minted = self.mint()
        if minted is None:
            return _json({"code": "InternalServerError", "message": "not now"}, 500)
        return _json(
            {
                "AccessKeyId": minted.access_key,
                "SecretAccessKey": minted.secret_key,
                "Token": minted.session_token,
                "Expiration": minted.expires,
            }
        )


class StsServer(CredentialServer):
    """AssumeRole (signed) and AssumeRoleWithWebIdentity (`web_identity_token`, unsigned)."""

    web_identity_token = "web-identity-token"

    def environment(self) -> dict[str, str]:
        return {"AWS_ENDPOINT_URL_STS": self.endpoint}

    def answer(self, request: Request) -> Response:
        text = request.body.decode() or request.target.partition("?")[2]
        form = {name: values[0] for name, values in parse_qs(text).items()}
        action = form.get("Action", "")
        if action not in ("AssumeRole", "AssumeRoleWithWebIdentity"):
            return self._error("InvalidAction", f"no action {action}")
        if not form.get("RoleArn") or not form.get("RoleSessionName"):
            return self._error("ValidationError", "RoleArn and RoleSessionName are needed")
        if action == "AssumeRole" and "authorization" not in request.headers:
            return self._error("MissingAuthenticationToken", "AssumeRole has to be signed", 403)
        if action != "AssumeRole" and form.get("WebIdentityToken") != self.web_identity_token:
            return self._error("InvalidIdentityToken", "not a token of this provider")
        minted = self.mint()
        if minted is None:
            return self._error("InternalFailure", "not now", 500)
        namespace = "https://sts.amazonaws.com/doc/2011-06-15/"
        body = (
            f'<{action}Response xmlns="{namespace}"><{action}Result><Credentials>'
            f"<AccessKeyId>{minted.access_key}</AccessKeyId>"
            f"<SecretAccessKey>{minted.secret_key}</SecretAccessKey>"
            f"<SessionToken>{minted.session_token}</SessionToken>"
            f"<Expiration>{minted.expires}</Expiration>"
            f"</Credentials></{action}Result>"
            f"<ResponseMetadata><RequestId>r-{len(self.issued)}</RequestId></ResponseMetadata>"
            f"</{action}Response>"
        )
        return Response(200, {"Content-Type": "text/xml"}, body.encode())

    def _error(self, code: str, message: str, status: int = 400) -> Response:
        body = (
            f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code>"
            f"<Message>{message}</Message></Error><RequestId>r-0</RequestId></ErrorResponse>"
        )
        return Response(status, {"Content-Type": "text/xml"}, body.encode())
