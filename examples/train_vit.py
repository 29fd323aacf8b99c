"""Trains a small vision transformer on JPEG files in a bucket: DATA/train/CLASS/*.jpg, DATA/val/….

python examples/train_vit.py --data s3://bucket/prefix --region eu-west-1
"""

import argparse
import time

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

import headrace
from headrace.torch import DataLoader, S3MapDataset, S3Reader

SIDE = 64  # pixels, of the square that a picture is shrunk to


class Decode:
    """From an object to (pixels, class): uint8 of (3, SIDE, SIDE), and its folder's number."""

    def __init__(self, classes: list[str]) -> None:
        self.classes = {name: number for number, name in enumerate(classes)}

    def __call__(self, reader: S3Reader) -> tuple[torch.Tensor, int]:
        image = Image.open(reader)
        image.draft("RGB", (SIDE, SIDE))  # half, quarter or eighth size: less to decode
        pixels = np.asarray(image.convert("RGB").resize((SIDE, SIDE)))
        return torch.from_numpy(pixels.copy()).permute(2, 0, 1), self.classes[class_of(reader.key)]


def class_of(key: str) -> str:
    return key.split("/")[-2]


class SmallViT(nn.Module):
    """Three strided convolutions make 64 tokens of 96 numbers; three transformer layers follow."""

    def __init__(self, classes: int, width: int = 96, depth: int = 3) -> None:
        super().__init__()
        stem: list[nn.Module] = [nn.InstanceNorm2d(3)]
        for before, after in ((3, 32), (32, 64), (64, width)):
            stem += [nn.Conv2d(before, after, 3, 2, 1), nn.BatchNorm2d(after), nn.ReLU()]
        self.stem = nn.Sequential(*stem)
        self.position = nn.Parameter(torch.randn(1, (SIDE // 8) ** 2, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, 0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        tokens = self.stem(pixels.float()).flatten(2).transpose(1, 2)
        return self.head(self.encoder(tokens + self.position).mean(1))


def train_epoch(model, loader, optimizer, schedule) -> dict[str, float]:
    """One pass; the mean loss, samples per second, and the share of time spent waiting for data."""
    model.train()
    loss_sum = samples = waited = 0.0
    begin = mark = time.perf_counter()
    for pixels, labels in loader:
        waited += time.perf_counter() - mark
        loss = F.cross_entropy(model(pixels), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        loss_sum += loss.item() * len(labels)
        samples += len(labels)
        mark = time.perf_counter()
    seconds = time.perf_counter() - begin
    return {"loss": loss_sum / samples, "rate": samples / seconds, "waited": waited / seconds}


@torch.no_grad()
def accuracy(model, loader) -> float:
    model.eval()
    right = [(model(pixels).argmax(1) == labels).float() for pixels, labels in loader]
    return torch.cat(right).mean().item()


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True, help="s3://bucket/prefix with train/ and val/")
    parser.add_argument("--region", help="default: as the AWS tools find it")
    parser.add_argument("--endpoint-url", help="of an S3-compatible server that is not AWS")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=1, help="processes that decode")
    return parser


def main() -> None:
    args = arguments().parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(max(1, torch.get_num_threads() - args.workers))
    data = args.data.rstrip("/")
    client = headrace.Client(region=args.region, endpoint_url=args.endpoint_url)
    classes = sorted({class_of(info.key) for info in client.list(f"{data}/train/")})

    def loader(split: str, shuffle: bool) -> DataLoader:
        where = {"region": args.region, "endpoint": args.endpoint_url}
        dataset = S3MapDataset.from_prefix(f"{data}/{split}/", transform=Decode(classes), **where)
        return DataLoader(dataset, args.batch_size, shuffle=shuffle, num_workers=args.workers)

    train, held_out, model = loader("train", True), loader("val", False), SmallViT(len(classes))
    print(f"{len(train.dataset)} pictures to train on, {len(held_out.dataset)} held out")
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, args.epochs * len(train))
    for epoch in range(1, args.epochs + 1):
        result = train_epoch(model, train, optimizer, schedule)
        right = f"{accuracy(model, held_out):.1%}"
        print(f"epoch {epoch}: loss {result['loss']:.3f}, held-out accuracy {right}", end=", ")
        print(f"{result['rate']:.0f} samples/s, {result['waited']:.0%} of time waiting for data")


if __name__ == "__main__":
    main()
