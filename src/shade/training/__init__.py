"""Autoencoders and their training. This part does not compute density: it is given the targets."""

from shade.training.autoencoders import Autoencoder, ConvolutionalAutoencoder, FeedForwardAutoencoder, build_network
from shade.training.callbacks import Callback, EarlyStopping
from shade.training.inference import decode_rows, encode_rows
from shade.training.trainer import Trainer, TrainResult, TrainSettings

__all__ = [
    "Autoencoder", "Callback", "ConvolutionalAutoencoder", "EarlyStopping", "FeedForwardAutoencoder", "TrainResult",
    "TrainSettings", "Trainer", "build_network", "decode_rows", "encode_rows",
]  # fmt: skip
