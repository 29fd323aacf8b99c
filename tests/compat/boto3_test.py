"""boto3 against the embedded server: every operation, odd keys, conditions, errors."""

from __future__ import annotations

import hashlib
import io
import os
import urllib.error
import urllib.request
from typing import Any

import pytest
from boto3.s3.transfer import TransferConfig
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from compat.odd_keys import ODD_KEYS
from compat.support import client_of
from servers import EmbeddedServer

MIB = 1 << 20


def code_of(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Code"])


def test_an_object_comes_back_with_its_headers(s3: Any, bucket: str) -> None:
    body = os.urandom(115_000)
    put = s3.put_object(
        Bucket=bucket,
        Key="k",
        Body=body,
        ContentType="image/jpeg",
        CacheControl="max-age=5",
        ContentDisposition="attachment",
        ContentEncoding="identity",
        ContentLanguage="de",
        Metadata={"colour": "red", "size": "big"},
        StorageClass="STANDARD_IA",
        ServerSideEncryption="AES256",
        Tagging="a=1&b=2",
    )
    assert put["ETag"] == f'"{hashlib.md5(body).hexdigest()}"'
    assert put["ServerSideEncryption"] == "AES256"
    got = s3.get_object(Bucket=bucket, Key="k")
    assert got["Body"].read() == body
    head = s3.head_object(Bucket=bucket, Key="k")
    for answer in (got, head):
        assert answer["ContentLength"] == len(body)
        assert answer["ContentType"] == "image/jpeg"
        assert answer["CacheControl"] == "max-age=5"
        assert answer["ContentDisposition"] == "attachment"
        assert answer["ContentEncoding"] == "identity"
        assert answer["ContentLanguage"] == "de"
        assert answer["Metadata"] == {"colour": "red", "size": "big"}
        assert answer["StorageClass"] == "STANDARD_IA"
        assert answer["ServerSideEncryption"] == "AES256"
        assert answer["AcceptRanges"] == "bytes"
    tags = s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"]
    assert tags == [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]


@pytest.mark.parametrize("key", ODD_KEYS, ids=ascii)
def test_every_key_works_through_every_operation(s3: Any, bucket: str, key: str) -> None:
    body = key.encode() * 3
    s3.put_object(Bucket=bucket, Key=key, Body=body)
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == body
    assert s3.head_object(Bucket=bucket, Key=key)["ContentLength"] == len(body)
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=key)["Contents"]
    assert [entry["Key"] for entry in listed] == [key]
    s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": key})
    assert s3.get_object(Bucket=bucket, Key="copy")["Body"].read() == body
    url = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": key})
    assert urllib.request.urlopen(url).read() == body
    upload = s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
    part = s3.upload_part(Bucket=bucket, Key=key, UploadId=upload, PartNumber=1, Body=b"part")
    s3.complete_multipart_upload(
        Bucket=bucket,
        Key=key,
        UploadId=upload,
        MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]},
    )
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == b"part"
    s3.delete_object(Bucket=bucket, Key=key)
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=bucket, Key=key)
    assert code_of(error) == "NoSuchKey"


def test_odd_keys_live_side_by_side(s3: Any, bucket: str) -> None:
    for key in ODD_KEYS:
        s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
    listed = [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert listed == sorted(ODD_KEYS, key=str.encode)
    for key in ODD_KEYS:
        assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == key.encode()
    # botocore writes control characters raw into the XML, which no parser takes: those go singly.
    carried = [key for key in ODD_KEYS if not any(c < " " or c == "\x7f" for c in key)]
    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": k} for k in carried]})
    assert {entry["Key"] for entry in answer["Deleted"]} == set(carried)
    left = [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
    assert set(left) == set(ODD_KEYS) - set(carried)


@pytest.mark.parametrize(
    ("asked", "expected", "content_range"),
    [
        ("bytes=0-9", slice(0, 10), "bytes 0-9/1000"),
        ("bytes=990-", slice(990, 1000), "bytes 990-999/1000"),
        ("bytes=-10", slice(990, 1000), "bytes 990-999/1000"),
        ("bytes=-5000", slice(0, 1000), "bytes 0-999/1000"),
        ("bytes=500-99999", slice(500, 1000), "bytes 500-999/1000"),
    ],
)
def test_ranges(s3: Any, bucket: str, asked: str, expected: slice, content_range: str) -> None:
    body = os.urandom(1000)
    s3.put_object(Bucket=bucket, Key="k", Body=body)
    got = s3.get_object(Bucket=bucket, Key="k", Range=asked)
    assert got["Body"].read() == body[expected]
    assert got["ContentRange"] == content_range
    assert got["ResponseMetadata"]["HTTPStatusCode"] == 206


def test_a_range_behind_the_end_is_refused(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="empty", Body=b"")
    s3.put_object(Bucket=bucket, Key="k", Body=b"12345")
    for key, asked in (("empty", "bytes=0-0"), ("empty", "bytes=0-"), ("k", "bytes=5-")):
        with pytest.raises(ClientError) as error:
            s3.get_object(Bucket=bucket, Key=key, Range=asked)
        assert code_of(error) == "InvalidRange"
        assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 416
    assert s3.get_object(Bucket=bucket, Key="empty")["Body"].read() == b""


def test_read_conditions(s3: Any, bucket: str) -> None:
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"1")["ETag"]
    modified = s3.head_object(Bucket=bucket, Key="k")["LastModified"]
    where = {"Bucket": bucket, "Key": "k"}
    assert s3.get_object(**where, IfMatch=etag)["Body"].read() == b"1"
    assert s3.get_object(**where, IfMatch=etag.strip('"'))["Body"].read() == b"1"
    assert s3.get_object(**where, IfNoneMatch='"other"')["Body"].read() == b"1"
    for condition, status in (
        ({"IfMatch": '"other"'}, 412),
        ({"IfNoneMatch": etag}, 304),
        ({"IfModifiedSince": modified}, 304),
        ({"IfUnmodifiedSince": modified.replace(year=2001)}, 412),
    ):
        for call in (s3.get_object, s3.head_object):
            with pytest.raises(ClientError) as error:
                call(**where, **condition)
            assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == status


def test_write_conditions(s3: Any, bucket: str) -> None:
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"1", IfNoneMatch="*")["ETag"]
    for condition in ({"IfNoneMatch": "*"}, {"IfMatch": '"other"'}):
        with pytest.raises(ClientError) as error:
            s3.put_object(Bucket=bucket, Key="k", Body=b"2", **condition)
        assert code_of(error) == "PreconditionFailed"
    s3.put_object(Bucket=bucket, Key="k", Body=b"3", IfMatch=etag)
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"3"


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA1", "SHA256"])
def test_checksums_are_verified_stored_and_returned(s3: Any, bucket: str, algorithm: str) -> None:
    name = f"Checksum{algorithm}"
    put = s3.put_object(Bucket=bucket, Key="k", Body=b"123456789", ChecksumAlgorithm=algorithm)
    got = s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert got["Body"].read() == b"123456789"
    assert got[name] == put[name]
    assert got["ChecksumType"] == "FULL_OBJECT"
    wrong = {"CRC32": "AAAAAA==", "SHA1": "A" * 27 + "=", "SHA256": "A" * 43 + "="}[algorithm]
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="k", Body=b"other", **{name: wrong})
    assert code_of(error) == "BadDigest"
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"123456789"


def test_known_crc_values(s3: Any, bucket: str) -> None:
    # The check values of the catalogue of CRCs, for "123456789".
    for name, value in (("ChecksumCRC32C", "4waSgw=="), ("ChecksumCRC64NVME", "rosUhgp5mIg=")):
        s3.put_object(Bucket=bucket, Key="k", Body=b"123456789", **{name: value})
        assert s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")[name] == value


def test_content_md5(s3: Any, bucket: str) -> None:
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="k", Body=b"x", ContentMD5="1B2M2Y8AsgTpgAmY7PhCfg==")
    assert code_of(error) == "BadDigest"


def test_multipart_upload_and_download(s3: Any, bucket: str) -> None:
    body = os.urandom(20 * MIB + 17)
    config = TransferConfig(multipart_threshold=8 * MIB, multipart_chunksize=8 * MIB)
    s3.upload_fileobj(
        io.BytesIO(body), bucket, "big", Config=config, ExtraArgs={"Metadata": {"a": "b"}}
    )
    out = io.BytesIO()
    s3.download_fileobj(bucket, "big", out, Config=config)
    assert out.getvalue() == body
    head = s3.head_object(Bucket=bucket, Key="big", ChecksumMode="ENABLED")
    digests = b"".join(
        hashlib.md5(body[at : at + 8 * MIB]).digest() for at in range(0, len(body), 8 * MIB)
    )
    assert head["ETag"] == f'"{hashlib.md5(digests).hexdigest()}-3"'
    assert head["Metadata"] == {"a": "b"}
    part = s3.get_object(Bucket=bucket, Key="big", PartNumber=2)
    assert part["Body"].read() == body[8 * MIB : 16 * MIB]
    assert part["PartsCount"] == 3


def test_a_full_object_checksum_of_a_multipart_upload(s3: Any, bucket: str) -> None:
    body = os.urandom(6 * MIB)
    whole = s3.put_object(Bucket=bucket, Key="whole", Body=body)["ChecksumCRC32"]
    upload = s3.create_multipart_upload(
        Bucket=bucket, Key="k", ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT"
    )["UploadId"]
    parts = []
    for number, piece in enumerate((body[: 5 * MIB], body[5 * MIB :]), 1):
        part = s3.upload_part(
            Bucket=bucket,
            Key="k",
            UploadId=upload,
            PartNumber=number,
            Body=piece,
            ChecksumAlgorithm="CRC32",
        )
        parts.append(
            {"PartNumber": number, "ETag": part["ETag"], "ChecksumCRC32": part["ChecksumCRC32"]}
        )
    listed = s3.list_parts(Bucket=bucket, Key="k", UploadId=upload)["Parts"]
    assert [(p["PartNumber"], p["Size"]) for p in listed] == [(1, 5 * MIB), (2, MIB)]
    done = s3.complete_multipart_upload(
        Bucket=bucket,
        Key="k",
        UploadId=upload,
        MultipartUpload={"Parts": parts},
        ChecksumType="FULL_OBJECT",
    )
    assert done["ChecksumCRC32"] == whole


def test_multipart_errors(s3: Any, bucket: str) -> None:
    where = {"Bucket": bucket, "Key": "k"}
    upload = s3.create_multipart_upload(**where)["UploadId"]
    etags = [
        s3.upload_part(**where, UploadId=upload, PartNumber=n, Body=b"small")["ETag"]
        for n in (1, 2)
    ]

    def complete(*parts: tuple[int, str]) -> Any:
        listed = [{"PartNumber": n, "ETag": etag} for n, etag in parts]
        return s3.complete_multipart_upload(
            **where, UploadId=upload, MultipartUpload={"Parts": listed}
        )

    for parts, expected in (
        (((1, etags[0]), (2, etags[1])), "EntityTooSmall"),
        (((2, etags[1]), (1, etags[0])), "InvalidPartOrder"),
        (((1, '"0123456789abcdef0123456789abcdef"'),), "InvalidPart"),
        (((3, etags[0]),), "InvalidPart"),
    ):
        with pytest.raises(ClientError) as error:
            complete(*parts)
        assert code_of(error) == expected
    assert [u["Key"] for u in s3.list_multipart_uploads(Bucket=bucket)["Uploads"]] == ["k"]
    first = complete((1, etags[0]))
    again = complete((1, etags[0]))  # as a client that lost the answer asks
    assert again["ETag"] == first["ETag"]
    aborted = s3.create_multipart_upload(**where)["UploadId"]
    s3.abort_multipart_upload(**where, UploadId=aborted)
    with pytest.raises(ClientError) as error:
        s3.upload_part(**where, UploadId=aborted, PartNumber=1, Body=b"x")
    assert code_of(error) == "NoSuchUpload"
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


@pytest.mark.parametrize("key", ["k+1.bin", "k 2.bin", "k%41.bin", "k?x=1.bin", "\u00fc#.bin"])
@pytest.mark.parametrize("threshold", [5 * MIB, 100 * MIB])
def test_copy_single_and_multipart(s3: Any, bucket: str, key: str, threshold: int) -> None:
    body = os.urandom(12 * MIB)
    s3.put_object(
        Bucket=bucket, Key=key, Body=body, ContentType="text/x", Metadata={"colour": "red"}
    )
    config = TransferConfig(multipart_threshold=threshold, multipart_chunksize=5 * MIB)
    s3.copy({"Bucket": bucket, "Key": key}, bucket, "copy of " + key, Config=config)
    got = s3.get_object(Bucket=bucket, Key="copy of " + key)
    assert got["Body"].read() == body
    assert ("-3" in got["ETag"]) == (threshold == 5 * MIB)
    if threshold > len(body):
        assert (got["ContentType"], got["Metadata"]) == ("text/x", {"colour": "red"})
    # The copy shares the source's data: it must outlive it.
    s3.delete_object(Bucket=bucket, Key=key)
    assert s3.get_object(Bucket=bucket, Key="copy of " + key)["Body"].read() == body


def test_copy_directives_and_conditions(s3: Any, bucket: str) -> None:
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"1", Metadata={"a": "1"})["ETag"]
    source = {"Bucket": bucket, "Key": "k"}
    s3.copy_object(
        Bucket=bucket,
        Key="replaced",
        CopySource=source,
        MetadataDirective="REPLACE",
        Metadata={"b": "2"},
        CopySourceIfMatch=etag,
    )
    assert s3.head_object(Bucket=bucket, Key="replaced")["Metadata"] == {"b": "2"}
    s3.copy_object(Bucket=bucket, Key="kept", CopySource=source, ServerSideEncryption="AES256")
    kept = s3.head_object(Bucket=bucket, Key="kept")
    assert (kept["Metadata"], kept["ServerSideEncryption"]) == ({"a": "1"}, "AES256")
    with pytest.raises(ClientError) as error:
        s3.copy_object(Bucket=bucket, Key="x", CopySource=source, CopySourceIfMatch='"other"')
    assert code_of(error) == "PreconditionFailed"
    with pytest.raises(ClientError) as error:
        s3.copy_object(Bucket=bucket, Key="x", CopySource={"Bucket": bucket, "Key": "absent"})
    assert code_of(error) == "NoSuchKey"


def test_a_copy_onto_itself_must_change_something(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k 1", Body=b"1", Metadata={"a": "1"})
    onto_itself = {"Bucket": bucket, "Key": "k 1", "CopySource": {"Bucket": bucket, "Key": "k 1"}}
    for change in ({}, {"MetadataDirective": "COPY"}, {"TaggingDirective": "REPLACE"}):
        with pytest.raises(ClientError) as error:
            s3.copy_object(**onto_itself, **change)
        assert code_of(error) == "InvalidRequest"
        assert "to copy an object to itself without changing" in str(error.value)
    s3.copy_object(**onto_itself, MetadataDirective="REPLACE", Metadata={"b": "2"})
    assert s3.head_object(Bucket=bucket, Key="k 1")["Metadata"] == {"b": "2"}
    s3.copy_object(**onto_itself, StorageClass="STANDARD_IA")
    assert s3.head_object(Bucket=bucket, Key="k 1")["StorageClass"] == "STANDARD_IA"
    s3.copy_object(**onto_itself, ServerSideEncryption="AES256")
    s3.copy_object(**onto_itself, WebsiteRedirectLocation="/elsewhere")
    assert s3.get_object(Bucket=bucket, Key="k 1")["Body"].read() == b"1"


def test_listing_pages_delimiters_and_order(s3: Any, bucket: str) -> None:
    keys = [f"d{i % 7}/{i:05}" for i in range(2300)] + ["d", "d-x", "d/x", "e"]
    for key in keys:
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    expected = sorted(keys, key=str.encode)
    for version in ("list_objects_v2", "list_objects"):
        pages = list(s3.get_paginator(version).paginate(Bucket=bucket))
        assert [len(page["Contents"]) for page in pages] == [1000, 1000, 304]
        assert [entry["Key"] for page in pages for entry in page["Contents"]] == expected
        pages = list(
            s3.get_paginator(version).paginate(
                Bucket=bucket, Delimiter="/", PaginationConfig={"PageSize": 3}
            )
        )
        folders = [p["Prefix"] for page in pages for p in page.get("CommonPrefixes", [])]
        assert folders == ["d/", "d0/", "d1/", "d2/", "d3/", "d4/", "d5/", "d6/"]
        found = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        assert found == ["d", "d-x", "e"]
    page = s3.list_objects_v2(Bucket=bucket, StartAfter="d6/02200", MaxKeys=2, Prefix="d6/")
    assert [entry["Key"] for entry in page["Contents"]] == ["d6/02204", "d6/02211"]
    assert page["IsTruncated"] and page["KeyCount"] == 2
    assert s3.list_objects_v2(Bucket=bucket, MaxKeys=0)["KeyCount"] == 0


def test_batch_delete(s3: Any, bucket: str) -> None:
    for i in range(5):
        s3.put_object(Bucket=bucket, Key=f"k{i}", Body=b"")
    objects = [{"Key": f"k{i}"} for i in range(4)] + [{"Key": "was never there"}]
    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": objects})
    assert len(answer["Deleted"]) == 5
    assert "Errors" not in answer
    quiet = {"Objects": [{"Key": "k4"}], "Quiet": True}
    assert "Deleted" not in s3.delete_objects(Bucket=bucket, Delete=quiet)
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)


@pytest.mark.parametrize("version", ["s3v4", "s3"])
def test_presigned_urls(server: EmbeddedServer, bucket: str, version: str) -> None:
    s3 = client_of(server, config=Config(signature_version=version))
    where = {"Bucket": bucket, "Key": "a b+c/ü"}
    put = s3.generate_presigned_url("put_object", Params=where)
    request = urllib.request.Request(put, data=b"by url", method="PUT")
    request.add_header("Content-Type", "")
    urllib.request.urlopen(request)
    get = s3.generate_presigned_url("get_object", Params=where | {"ResponseContentType": "text/x"})
    with urllib.request.urlopen(get) as answer:
        assert answer.read() == b"by url"
        assert answer.headers["Content-Type"] == "text/x"
    for broken in (
        get.replace("Signature=", "Signature=0"),
        get.replace("response-content-type=text%2Fx", "response-content-type=text%2Fy"),
        s3.generate_presigned_url("get_object", Params=where, ExpiresIn=-5),
    ):
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(broken)
        assert error.value.code in (400, 403)


def test_buckets(s3: Any, bucket: str) -> None:
    assert bucket in [b["Name"] for b in s3.list_buckets()["Buckets"]]
    assert s3.get_bucket_location(Bucket=bucket)["LocationConstraint"] is None
    headers = s3.head_bucket(Bucket=bucket)["ResponseMetadata"]["HTTPHeaders"]
    assert headers["x-amz-bucket-region"] == "us-east-1"
    with pytest.raises(ClientError) as error:
        s3.create_bucket(Bucket=bucket)
    assert code_of(error) == "BucketAlreadyOwnedByYou"
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    with pytest.raises(ClientError) as error:
        s3.delete_bucket(Bucket=bucket)
    assert code_of(error) == "BucketNotEmpty"
    s3.delete_object(Bucket=bucket, Key="k")
    s3.delete_bucket(Bucket=bucket)
    with pytest.raises(ClientError) as error:
        s3.head_bucket(Bucket=bucket)
    assert code_of(error) == "404"


def test_who_may_not(server: EmbeddedServer, s3: Any, bucket: str) -> None:
    cases = [
        (client_of(server, aws_secret_access_key="wrong"), "SignatureDoesNotMatch"),
        (client_of(server, aws_access_key_id="nobody"), "InvalidAccessKeyId"),
        (client_of(server, config=Config(signature_version=UNSIGNED)), "AccessDenied"),
    ]
    for client, expected in cases:
        with pytest.raises(ClientError) as error:
            client.list_objects_v2(Bucket=bucket)
        assert code_of(error) == expected
    session = client_of(server, aws_session_token="any+token/=")
    assert session.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_an_anonymous_bucket_can_be_read_and_not_written(server: EmbeddedServer, s3: Any) -> None:
    s3.create_bucket(Bucket="open-bucket")
    s3.put_object(Bucket="open-bucket", Key="k", Body=b"open")
    anonymous = client_of(server, config=Config(signature_version=UNSIGNED))
    assert anonymous.get_object(Bucket="open-bucket", Key="k")["Body"].read() == b"open"
    assert anonymous.list_objects_v2(Bucket="open-bucket")["KeyCount"] == 1
    with pytest.raises(ClientError) as error:
        anonymous.put_object(Bucket="open-bucket", Key="k", Body=b"mine")
    assert code_of(error) == "AccessDenied"


def test_the_wrong_region_is_named_with_the_right_one(server: EmbeddedServer, bucket: str) -> None:
    wrong = client_of(server, region_name="eu-west-1")
    with pytest.raises(ClientError) as error:
        wrong.list_buckets()
    assert code_of(error) == "AuthorizationHeaderMalformed"
    assert error.value.response["Error"]["Region"] == "us-east-1"
    # With a bucket to ask about, botocore finds the right region by that answer.
    assert wrong.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_archived_objects_must_be_restored(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"cold", StorageClass="GLACIER")
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=bucket, Key="k")
    assert code_of(error) == "InvalidObjectState"
    assert s3.head_object(Bucket=bucket, Key="k")["StorageClass"] == "GLACIER"


def test_tags_can_be_replaced_and_removed(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    tags = [{"Key": "a b", "Value": "ü&<"}]
    s3.put_object_tagging(Bucket=bucket, Key="k", Tagging={"TagSet": tags})
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == tags
    s3.delete_object_tagging(Bucket=bucket, Key="k")
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == []


def test_what_is_not_there_says_so(s3: Any, bucket: str) -> None:
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket="no-such-bucket", Key="k")
    assert code_of(error) == "NoSuchBucket"
    with pytest.raises(ClientError) as error:
        s3.get_bucket_policy(Bucket=bucket)
    assert code_of(error) == "NotImplemented"
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="k", Body=b"", ObjectLockLegalHoldStatus="ON")
    assert code_of(error) == "NotImplemented"
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="x" * 1025, Body=b"")
    assert code_of(error) == "KeyTooLongError"
