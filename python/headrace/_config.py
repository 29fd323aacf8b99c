"""What a client can be told."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ._errors import InvalidArgument

MIB = 1 << 20


@dataclass(frozen=True)
class ClientConfig:
    """Settings of a client; the first six are the S3 Connector's, by name and by place.

    Parameters
    ----------
    throughput_target_gbps : float, optional
        Decides the number of event-loop threads: one per 10 Gbit/s, at most four. Default: two, and
        one where there are fewer than four cores.
    part_size : int
        Bytes per ranged GET and per part of a multipart upload; at least 5 MiB for uploads.
    unsigned : bool
        Send requests without credentials.
    force_path_style : bool
        Bucket in the path instead of the host name; automatic for custom endpoints.
    max_attempts : int, optional
        Requests for one thing, the first included. Default: ``AWS_MAX_ATTEMPTS``, else 10.
    profile : str, optional
        Of the AWS configuration files.
    requester_pays : bool
        Accept the charges of a requester-pays bucket.
    max_in_flight : int, optional
        Requests at once. Default: found by probing.
    multipart_threshold : int
        Uploads above this many bytes are multipart.
    memory_limit : int, optional
        Bytes the engine may hold. Default: an eighth of the memory, at most 2 GiB per host, shared
        among ``LOCAL_WORLD_SIZE`` processes and a DataLoader's workers, at least 64 MiB. Each open
        writer may hold a part (8 MiB) more than that, rather than wait for the others.
    connect_timeout, idle_timeout, progress_timeout : float
        Seconds: to connect; without a byte, which ends an attempt; without progress, which ends the
        operation.
    hedge : bool
        Send a second GET when the first is unusually late with its first byte.
    sign_payload : bool
        Sign a hash of each uploaded body instead of sending a checksum beside it.
    ca_bundle : str, optional
        PEM file. Default: ``AWS_CA_BUNDLE``, then the system's.
    verify_tls : bool
        Whether certificates are checked.
    expected_bucket_owner : str, optional
        Account id; the service refuses a bucket of anybody else.
    access_key_id, secret_access_key, session_token : str, optional
        Static credentials. Default: as the AWS tools find them.
    user_agent_extra : str, optional
        Stands after ``headrace/VERSION`` in each request's User-Agent: finds a job in access logs.
    """

    throughput_target_gbps: float | None = None
    part_size: int = 8 * MIB
    unsigned: bool = False
    force_path_style: bool = False
    max_attempts: int | None = None
    profile: str | None = None
    requester_pays: bool = False
    max_in_flight: int | None = None
    multipart_threshold: int = 16 * MIB
    memory_limit: int | None = None
    connect_timeout: float = 3.0
    idle_timeout: float = 20.0
    progress_timeout: float = 60.0
    hedge: bool = True
    sign_payload: bool = False
    ca_bundle: str | None = None
    verify_tls: bool = True
    expected_bucket_owner: str | None = None
    access_key_id: str | None = None
    secret_access_key: str | None = None
    session_token: str | None = None
    user_agent_extra: str | None = None

    def __post_init__(self) -> None:
        if self.unsigned and self.requester_pays:
            raise InvalidArgument("requester_pays needs signed requests: drop unsigned")

    def __repr__(self) -> str:
        # Never the secrets.
        shown = (
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if getattr(self, field.name) != field.default and "secret" not in field.name
            if field.name != "session_token"
        )
        return f"ClientConfig({', '.join(shown)})"

    def native(self) -> dict[str, Any]:
        """The engine's options; what is None is left to its defaults."""
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        options["anonymous"] = options.pop("unsigned")
        return {name: value for name, value in options.items() if value is not None}
