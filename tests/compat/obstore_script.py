"""obstore (Rust object_store) against the server in the environment. Argument: the bucket."""

from __future__ import annotations

import json
import os
import sys

import obstore
from obstore.store import S3Store

from compat.odd_keys import ODD_KEYS

# object_store normalises paths on its own side: these keys cannot be named through it.
CARRIED = [
    key
    for key in ODD_KEYS
    if "//" not in key
    and not key.startswith("/")
    and not key.endswith("/")
    and not any(part in (".", "..") for part in key.split("/"))
    and not any(c < " " or c == "\x7f" for c in key)
]

bucket = sys.argv[1]
store = S3Store(
    bucket,
    endpoint=os.environ["AWS_ENDPOINT_URL"],
    access_key_id=os.environ["AWS_ACCESS_KEY_ID"],
    secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"],
    region="us-east-1",
    client_options={"allow_http": True},
)

body = os.urandom(115_000)
put = obstore.put(store, "dir/k", body)
assert bytes(obstore.get(store, "dir/k").bytes()) == body
assert bytes(obstore.get_range(store, "dir/k", start=100, end=300)) == body[100:300]
ranges = obstore.get_ranges(store, "dir/k", starts=[0, 90_000], ends=[10, 115_000])
assert [bytes(r) for r in ranges] == [body[:10], body[90_000:]]
head = obstore.head(store, "dir/k")
assert (head["size"], head["e_tag"]) == (len(body), put["e_tag"])
assert bytes(obstore.get(store, "dir/k", options={"if_match": put["e_tag"]}).bytes()) == body
try:
    obstore.put(store, "dir/k", b"x", mode="create")
    raise AssertionError("a create-only put overwrote an object")
except obstore.exceptions.AlreadyExistsError:
    pass
try:
    obstore.get(store, "absent")
    raise AssertionError("an absent key was found")
except FileNotFoundError:
    pass

big = os.urandom(12 << 20)
obstore.put(store, "big", big, use_multipart=True, chunk_size=5 << 20)
assert bytes(obstore.get(store, "big").bytes()) == big
obstore.copy(store, "big", "copy")
obstore.rename(store, "copy", "renamed")
assert bytes(obstore.get(store, "renamed").bytes()) == big

for key in CARRIED:
    obstore.put(store, key, key.encode(), use_multipart=False)
for key in CARRIED:
    assert bytes(obstore.get(store, key).bytes()) == key.encode(), key
listed = {entry["path"] for page in obstore.list(store) for entry in page}
assert listed == {*CARRIED, "dir/k", "big", "renamed"}, listed ^ {*CARRIED, "dir/k", "big"}
shallow = obstore.list_with_delimiter(store)
assert "dir" in shallow["common_prefixes"]
obstore.delete(store, sorted(listed))
assert [entry for page in obstore.list(store) for entry in page] == []

for i in range(1500):
    obstore.put(store, f"many/{i:04}", b"", use_multipart=False)
paths = [entry["path"] for page in obstore.list(store, "many") for entry in page]
assert paths == [f"many/{i:04}" for i in range(1500)]
obstore.delete(store, paths)

print(json.dumps({"keys": len(CARRIED)}))
