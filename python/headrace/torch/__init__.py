"""Data sets and the loader for PyTorch, under the names of the S3 Connector for PyTorch."""

from .._config import ClientConfig as S3ClientConfig
from .._errors import Error as S3Exception
from ._dataset import S3MapDataset
from ._loader import DataLoader
from ._reader import S3Reader, S3ReaderConstructor

__all__ = [
    "DataLoader",
    "S3ClientConfig",
    "S3Exception",
    "S3MapDataset",
    "S3Reader",
    "S3ReaderConstructor",
]
