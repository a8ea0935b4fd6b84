"""The table of benchmark datasets: size, kind, publisher, licence, files, and how each is normalised."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SourceFile:
    """A file of a publisher; `sha256` is empty where none is published or known."""

    url: str
    sha256: str = ""

    @property
    def name(self) -> str:
        """The name it is stored under while it is converted."""
        return self.url.rsplit("/", 1)[-1].replace("%20", "_").replace("+", "_")


@dataclass(frozen=True)
class DatasetInfo:
    """What is known about a dataset.

    Attributes
    ----------
    name : str
    n_samples, n_features, n_clusters, n_noise : int
        Features are those of the flattened sample; clusters without noise.
    kind : str
        "table", "image" or "video".
    publisher, licence : str
    files : tuple of SourceFile
        Empty for what cannot be fetched.
    reader : str
        The function of `shade.data.publishers` that turns the files into arrays.
    sha256 : str
        Of the arrays (`hash_arrays`), empty where unknown.
    part_of : str
        For a part or a variant, the dataset whose published figures it must not be compared with.
    note : str
        How a part or variant differs.
    """

    name: str
    n_samples: int
    n_features: int
    n_clusters: int
    kind: str
    publisher: str
    licence: str
    files: tuple[SourceFile, ...] = ()
    reader: str = ""
    sha256: str = ""
    n_noise: int = 0
    part_of: str = ""
    note: str = ""

    @property
    def standardize(self) -> str:
        """How the paper z-normalises: tables a feature, images and frames over all values."""
        return "feature" if self.kind == "table" else "global"

    @property
    def comparable(self) -> bool:
        """Whether published figures are about this very dataset."""
        return not self.part_of


_UCI = "UCI Machine Learning Repository"
_BY = "CC BY 4.0"
_UCI_FILES = "https://archive.ics.uci.edu/static/public/"
_DENSIRED = "https://raw.githubusercontent.com/PhilJahn/DENSIRED/main/datasets/"
_WEIZMANN = "https://www.wisdom.weizmann.ac.il/~vision/VideoAnalysis/Demos/SpaceTimeActions/DB/"
_GORELICK = "Weizmann Institute (Gorelick et al. 2007)"
WEIZMANN_ACTIONS = ("walk", "run", "jump", "side", "bend", "wave1", "wave2", "pjump", "jack", "skip")
_COIL = "https://cave.cs.columbia.edu/old/databases/SLAM_coil-20_coil-100/"
_KECK = "http://www.zhuolin.umiacs.io/PrototypeTree/"


def _uci(path: str) -> tuple[SourceFile, ...]:
    return (SourceFile(_UCI_FILES + path),)


def _idx(base: str, *sha256: str) -> tuple[SourceFile, ...]:
    """The four files of MNIST and of the datasets made in its image."""
    names = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    return tuple(SourceFile(f"{base}{name}-ubyte.gz", known) for name, known in zip(names, sha256, strict=True))


_ROWS = (
    DatasetInfo("synth_low", 5000, 100, 10, "table", "DENSIRED (Jahn et al. 2024)", "MIT",
        (SourceFile(_DENSIRED + "low_data_100.npy"),), "read_densired",
        "1a560c1ab8efe264b2ad0fdb167b4eb341a3ce5f7ab4302d5f62a111304da508", n_noise=500),
    DatasetInfo("synth_high", 5000, 100, 10, "table", "DENSIRED (Jahn et al. 2024)", "MIT",
        (SourceFile(_DENSIRED + "high_data_100.npy"),), "read_densired",
        "befce0bd4128258f4ff572bf7d099fc194dc00dcc87ddc0bf00d01fd5b56140d", n_noise=500),
    DatasetInfo("har", 10299, 561, 6, "table", _UCI, _BY,
        _uci("240/human+activity+recognition+using+smartphones.zip"), "read_har"),
    DatasetInfo("letter", 20000, 16, 26, "table", _UCI, _BY, _uci("59/letter+recognition.zip"), "read_letter",
        "39edbdd5da616d3076e749dae3b609e80994bfc897ce1ef9c8a77c4b2c4a532d"),
    DatasetInfo("htru2", 17898, 8, 2, "table", _UCI, _BY, _uci("372/htru2.zip"), "read_htru2",
        "96881cca3eab62693af0e0173e4f94f91ce8c8d52643f38ffc23960e357048a7"),
    DatasetInfo("mice", 1077, 68, 8, "table", _UCI, _BY, _uci("342/mice+protein+expression.zip"), "read_mice",
        "36b9e04cd258c0d3b1796b123f079f76a7c63d0cf347c8d0dfa7bb68002ae28f"),
    DatasetInfo("tcga", 801, 20264, 5, "table", _UCI, _BY, _uci("401/gene+expression+cancer+rna+seq.zip"), "read_tcga"),
    DatasetInfo("pendigits", 10992, 16, 10, "table", _UCI, _BY,
        _uci("81/pen+based+recognition+of+handwritten+digits.zip"), "read_digits",
        "6822fc5c1a517bbceeadf21e1e21cbd215587fa4cc455c22d3d2f47654ba1ba7"),
    DatasetInfo("weizmann", 5701, 77760, 90, "video", _GORELICK, "none stated",
        tuple(SourceFile(f"{_WEIZMANN}{action}.zip") for action in WEIZMANN_ACTIONS), "read_weizmann"),
    DatasetInfo("keck", 25457, 120000, 60, "video", "Keck gestures (Lin et al. 2009)", "none stated",
        (SourceFile(_KECK + "Keck_Dataset.zip"), SourceFile(_KECK + "sequences.txt")), "read_keck"),
    DatasetInfo("coil20", 1440, 16384, 20, "image", "Columbia University, CAVE", "research use",
        (SourceFile(_COIL + "coil-20/coil-20-proc.zip"),), "read_coil",
        "3b60e88784a0d3abf9f7070d317b1970425b17b2670789af7359e88c3a22b14e"),
    DatasetInfo("coil100", 7200, 49152, 100, "image", "Columbia University, CAVE", "research use",
        (SourceFile(_COIL + "coil-100/coil-100.zip"),), "read_coil"),
    DatasetInfo("cmu_faces", 624, 960, 20, "image", _UCI, _BY, _uci("124/cmu+face+images.zip"), "read_cmu_faces",
        "940ccfcbff438c1355e0208b529e4c38d6cd9451c6ffacf025f47c8ea16240d6"),
    DatasetInfo("optdigits", 5620, 64, 10, "image", _UCI, _BY,
        _uci("80/optical+recognition+of+handwritten+digits.zip"), "read_digits",
        "cee62694211a0e8c59162b096dc1121482c879fa4bb56c48a3c9fa89d283fb85"),
    DatasetInfo("usps", 9298, 256, 10, "image", "The Elements of Statistical Learning (Hull 1994)", "none stated",
        tuple(SourceFile(f"https://hastie.su.domains/ElemStatLearn/datasets/zip.{p}.gz") for p in ("train", "test")),
        "read_usps", "df11567153f9dca21bd495972a71c51ca1db24593f2ee5e04437f4e4ef915967"),
    DatasetInfo("mnist", 70000, 784, 10, "image", "LeCun, Cortes, Burges", "CC BY-SA 3.0",
        _idx(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
        "read_idx", "960f7d6b4e3bfd74b5676ebc504ef34d86981bafe2e3edc9591cc47db44419be"),
    DatasetInfo("fmnist", 70000, 784, 10, "image", "Zalando Research", "MIT",
        _idx(
            "https://fashion-mnist.s3.eu-central-1.amazonaws.com/",
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
        "read_idx", "39f62629b663d2cd016a396d5db6358f2b5db777ae90b7d29794235b1fbfd800"),
    DatasetInfo("kmnist", 70000, 784, 10, "image", "ROIS-DS CODH", "CC BY-SA 4.0",
        _idx(
            "https://codh.rois.ac.jp/kmnist/dataset/kmnist/",
            "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4",
            "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17",
            "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5",
            "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c",
        ),
        "read_idx"),
    DatasetInfo("har_recomputed", 10299, 561, 6, "table", _UCI, _BY,
        sha256="2e3141d31a8044d7a8376071dda80a8a22f401c6cacb28c71b5eb8b9a97dceb6", part_of="har",
        note="features computed again from the published inertial windows"),
    DatasetInfo("kmnist_test10k", 10000, 784, 10, "image", "ROIS-DS CODH", "CC BY-SA 4.0",
        sha256="cd43815c1eaf56b3efaa94c1f1c2bc7bdf27c9669ace1821f2eb0765c702db9e", part_of="kmnist",
        note="the test images alone"),
    DatasetInfo("coil100_17obj", 1224, 12288, 17, "image", "Columbia University, CAVE", "research use",
        sha256="00f0876467083f0eb49404f1fb5c7a3b91cca6208c5b311989dec54821d32b84", part_of="coil100",
        note="17 of the 100 objects, averaged down to 64 × 64"),
    DatasetInfo("weizmann_31videos", 1349, 19440, 31, "video", _GORELICK, "none stated",
        sha256="d9b5d6c8fa3ec062af04759efc6d2c8062b4c72dffda376848ca3ed7c513e37b", part_of="weizmann",
        note="the 31 shortest of the 93 videos, averaged down to 72 × 90"),
    DatasetInfo("weizmann_masks", 5687, 25920, 90, "video", _GORELICK, "none stated",
        sha256="1f8e2c2d3c13cb6122438959497ef29906355e34d930ca1483340c04bfbaa129", part_of="weizmann",
        note="silhouettes instead of frames"),
)  # fmt: skip

#: All datasets by name, in the order of the paper's tables, parts and variants last.
DATASETS: dict[str, DatasetInfo] = {row.name: row for row in _ROWS}
