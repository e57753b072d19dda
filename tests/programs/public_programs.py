"""A few training steps of public PyTorch programs, the same in PyTorch and in the engine; public.py runs both.

    python tests/programs/public_programs.py NAME WEIGHTS.npz [--as-torch]

Each function below builds a model of a published package, unmodified, and returns (module, loss, optimizer or None).
PyTorch, which runs first, writes the initial weights to WEIGHTS.npz and the engine reads them; random numbers of the
steps come from NumPy in both, and dropout is 0. The first line printed has the losses as JSON; then each number read
from stdin is answered by the CPU time of that number of steps.
"""

from __future__ import annotations

import json
import os
import sys
import time
import types
from typing import Any

STEPS = 5


class _Unused(types.ModuleType):
    """A library that these programs import for data that they do not load, or several devices, here."""

    __path__: list[str] = []  # noqa: RUF012

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Unused(name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (object,)


for _name in (
    "torchvision", "torchvision.transforms", "torchvision.transforms.functional", "torchvision.datasets",
    "torchvision.utils", "torchvision.models", "torchvision.ops", "accelerate", "requests",
):  # fmt: skip
    sys.modules[_name] = _Unused(_name)
if "--as-torch" in sys.argv:
    from engine.inspect import alias

    alias.install("torch")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

_draw = np.random.default_rng(0)


def images(batch: int = 4, size: int = 32, channels: int = 3) -> Any:
    return torch.from_numpy(_draw.standard_normal((batch, channels, size, size)).astype("f4"))


def values(*shape: int) -> Any:
    return torch.from_numpy(_draw.standard_normal(shape).astype("f4"))


def tokens(high: int, *shape: int) -> Any:
    return torch.from_numpy(_draw.integers(0, high, shape))


def classify(model: Any, inputs: Any, classes: int, optimizer: Any = None, **options: Any) -> Any:
    target = tokens(classes, inputs.shape[0])
    return model, lambda: F.cross_entropy(model(inputs, **options), target), optimizer


def classify_first(model: Any, inputs: Any, classes: int) -> Any:
    target = tokens(classes, inputs.shape[0])
    return model, lambda: F.cross_entropy(first(model(inputs)), target), None


def regress(model: Any, *inputs: Any, optimizer: Any = None, **options: Any) -> Any:
    def loss() -> Any:
        out = model(*inputs, **options)
        return (first(out) ** 2).mean()

    return model, loss, optimizer


def first(out: Any) -> Any:
    return first(out[0]) if isinstance(out, (tuple, list)) else out


def language(model: Any, size: int = 64, length: int = 64, batch: int = 4) -> Any:
    text = tokens(size, batch, length + 1)
    x, y = text[:, :-1], text[:, 1:].reshape(-1)
    return model, lambda: F.cross_entropy(first(model(x)).reshape(-1, size), y), None


def mlp() -> Any:
    return nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 10))


def cnn() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


def trained(model: Any, optimizer: Any) -> Any:
    inputs = values(16, 64) if isinstance(model[0], nn.Linear) else images(8)
    return classify(model, inputs, 10, optimizer(model.parameters()))


# ---- vision


def vit() -> Any:
    from vit_pytorch import ViT

    model = ViT(image_size=32, patch_size=4, num_classes=10, dim=64, depth=3, heads=4, mlp_dim=128)
    return classify(model, images(), 10)


def simple_vit() -> Any:
    from vit_pytorch.simple_vit import SimpleViT

    return classify(
        SimpleViT(
            image_size=32, patch_size=4, num_classes=10, dim=64, depth=3, heads=4, mlp_dim=128
        ),
        images(),
        10,
    )


def deep_vit() -> Any:
    from vit_pytorch.deepvit import DeepViT

    return classify(
        DeepViT(image_size=32, patch_size=4, num_classes=10, dim=64, depth=2, heads=4, mlp_dim=128),
        images(),
        10,
    )


def cait() -> Any:
    from vit_pytorch.cait import CaiT

    return classify(
        CaiT(
            image_size=32,
            patch_size=4,
            num_classes=10,
            dim=64,
            depth=2,
            cls_depth=1,
            heads=4,
            mlp_dim=128,
        ),
        images(),
        10,
    )


def cct() -> Any:
    from vit_pytorch.cct import CCT

    model = CCT(img_size=32, embedding_dim=64, n_conv_layers=1, kernel_size=3, stride=1, padding=1,
        num_layers=2, num_heads=4,
                mlp_ratio=2.0, num_classes=10, stochastic_depth_rate=0.0, dropout_rate=0.0,
        attention_dropout=0.0)  # fmt: skip
    return classify(model, images(), 10)


def levit() -> Any:
    from vit_pytorch.levit import LeViT

    model = LeViT(
        image_size=64,
        num_classes=10,
        stages=2,
        dim=(32, 48),
        depth=2,
        heads=(2, 3),
        mlp_mult=2,
        dropout=0.0,
    )
    return classify(model, images(2, 64), 10)


def cvt() -> Any:
    from vit_pytorch.cvt import CvT

    model = CvT(num_classes=10, s1_emb_dim=16, s1_heads=1, s1_depth=1, s2_emb_dim=32, s2_heads=2, s2_depth=1,
                s3_emb_dim=48, s3_heads=3, s3_depth=1)  # fmt: skip
    return classify(model, images(2, 64), 10)


def nest() -> Any:
    from vit_pytorch.nest import NesT

    return classify(
        NesT(
            image_size=32,
            patch_size=4,
            dim=24,
            heads=3,
            num_hierarchies=2,
            block_repeats=(1, 1),
            num_classes=10,
        ),
        images(),
        10,
    )


def mobile_vit() -> Any:
    from vit_pytorch.mobile_vit import MobileViT

    model = MobileViT(
        (64, 64),
        dims=[32, 40, 48],
        channels=[8, 8, 16, 16, 24, 24, 32, 32, 40, 40, 64],
        num_classes=10,
    )
    return classify(model, images(2, 64), 10)


def efficientnet() -> Any:
    from efficientnet_pytorch import EfficientNet

    model = EfficientNet.from_name(
        "efficientnet-b0",
        override_params={"num_classes": 10, "drop_connect_rate": 0.0, "dropout_rate": 0.0},
    )
    return classify(
        model, images(8, 64), 10
    )  # of fewer, the statistics of the last layers are noise


def mlp_mixer() -> Any:
    from mlp_mixer_pytorch import MLPMixer

    return classify(
        MLPMixer(image_size=32, channels=3, patch_size=4, dim=64, depth=3, num_classes=10),
        images(),
        10,
    )


def g_mlp() -> Any:
    from g_mlp_pytorch import gMLP

    return language(gMLP(num_tokens=64, dim=64, depth=2, seq_len=64, causal=True))


def res_mlp() -> Any:
    from res_mlp_pytorch import ResMLP

    return classify(
        ResMLP(image_size=32, patch_size=4, dim=64, depth=3, num_classes=10), images(), 10
    )


def glom() -> Any:
    from glom_pytorch import Glom

    return regress(Glom(dim=32, levels=3, image_size=32, patch_size=8), images(2), iters=4)


def halonet() -> Any:
    from halonet_pytorch import HaloAttention

    return regress(
        HaloAttention(dim=32, block_size=4, halo_size=2, dim_head=16, heads=2), images(2, 16, 32)
    )


def lambda_network() -> Any:
    from lambda_networks import LambdaLayer

    return regress(
        LambdaLayer(dim=16, dim_out=16, r=7, dim_k=8, heads=2, dim_u=1), images(2, 16, 16)
    )


def bottleneck_transformer() -> Any:
    from bottleneck_transformer_pytorch import BottleStack

    model = BottleStack(
        dim=32,
        fmap_size=16,
        dim_out=64,
        proj_factor=4,
        downsample=True,
        heads=2,
        dim_head=16,
        num_layers=2,
    )
    return regress(model, images(2, 16, 32))


def perceiver() -> Any:
    from perceiver_pytorch import Perceiver

    model = Perceiver(input_channels=3, input_axis=2, num_freq_bands=4, max_freq=10.0, depth=2,
        num_latents=16, latent_dim=32,
                      cross_heads=1, latent_heads=2, cross_dim_head=16, latent_dim_head=16, num_classes=10)  # fmt: skip
    return classify(model, images(2, 16).permute(0, 2, 3, 1).contiguous(), 10)


def siren() -> Any:
    from siren_pytorch import SirenNet

    return regress(
        SirenNet(dim_in=2, dim_hidden=64, dim_out=3, num_layers=4, w0_initial=30.0), values(256, 2)
    )


def ssim() -> Any:
    from pytorch_msssim import SSIM

    model, x = nn.Conv2d(3, 3, 3, padding=1), images(2, 48).sigmoid()
    measure = SSIM(data_range=1.0, size_average=True, channel=3)
    return model, lambda: 1 - measure(model(x).sigmoid(), x), None


def vq_vae() -> Any:
    from vector_quantize_pytorch import VectorQuantize

    encoder, decoder = nn.Conv2d(3, 32, 4, 4), nn.ConvTranspose2d(32, 3, 4, 4)
    quantizer = VectorQuantize(dim=32, codebook_size=64, accept_image_fmap=True, decay=0.8)
    model, x = nn.ModuleList([encoder, quantizer, decoder]), images()

    def loss() -> Any:
        code, _, commitment = quantizer(encoder(x))
        return F.mse_loss(decoder(code), x) + commitment.sum()

    return model, loss, None


def fsq() -> Any:
    from vector_quantize_pytorch import FSQ

    model = nn.Sequential(nn.Linear(16, 4), FSQ(levels=[8, 5, 5, 5]))
    return regress(model, values(2, 32, 16))


def diffusion() -> Any:
    from denoising_diffusion_pytorch import GaussianDiffusion, Unet

    network = Unet(dim=16, dim_mults=(1, 2), flash_attn=False)
    model, x = GaussianDiffusion(network, image_size=16, timesteps=100), images(2, 16).sigmoid()
    return model, lambda: model(x), None


def diffusion_of_sequences() -> Any:
    from denoising_diffusion_pytorch import GaussianDiffusion1D, Unet1D

    network = Unet1D(dim=16, dim_mults=(1, 2), channels=4)
    model, x = (
        GaussianDiffusion1D(network, seq_length=32, timesteps=100),
        values(2, 4, 32).sigmoid(),
    )
    return model, lambda: model(x), None


# ---- language and sequences


def gpt() -> Any:
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(dim=64, depth=2, heads=4, rotary_pos_emb=True)
    return language(TransformerWrapper(num_tokens=64, max_seq_len=64, attn_layers=layers))


def bert() -> Any:
    from x_transformers import Encoder, TransformerWrapper

    return language(
        TransformerWrapper(
            num_tokens=64, max_seq_len=64, attn_layers=Encoder(dim=64, depth=3, heads=4)
        )
    )


def performer() -> Any:
    from performer_pytorch import PerformerLM

    return language(
        PerformerLM(
            num_tokens=64,
            max_seq_len=64,
            dim=64,
            depth=2,
            heads=4,
            causal=False,
            feature_redraw_interval=None,
        )
    )


def linformer() -> Any:
    from linformer import LinformerLM

    return language(LinformerLM(num_tokens=64, dim=64, seq_len=64, depth=2, heads=4, k=16))


def reformer() -> Any:
    from reformer_pytorch import ReformerLM

    return language(
        ReformerLM(
            num_tokens=64,
            dim=64,
            depth=2,
            max_seq_len=64,
            heads=4,
            bucket_size=16,
            n_hashes=2,
            causal=True,
        )
    )


def sinkhorn() -> Any:
    from sinkhorn_transformer import SinkhornTransformerLM

    return language(
        SinkhornTransformerLM(
            num_tokens=64, dim=64, heads=4, depth=2, max_seq_len=64, bucket_size=16
        )
    )


def linear_attention() -> Any:
    from linear_attention_transformer import LinearAttentionTransformerLM

    return language(
        LinearAttentionTransformerLM(
            num_tokens=64, dim=64, heads=4, depth=2, max_seq_len=64, causal=True, blindspot_size=1
        )
    )


def local_attention() -> Any:
    from local_attention import LocalTransformer

    return language(
        LocalTransformer(
            num_tokens=64,
            dim=64,
            depth=2,
            max_seq_len=64,
            causal=True,
            local_attn_window_size=16,
            heads=4,
        )
    )


def nystrom() -> Any:
    from nystrom_attention import Nystromformer

    return regress(
        Nystromformer(dim=64, dim_head=16, heads=4, depth=2, num_landmarks=16), values(2, 64, 64)
    )


def axial() -> Any:
    from axial_attention import AxialAttention

    return regress(
        AxialAttention(dim=32, dim_index=1, heads=4, num_dimensions=2), images(2, 16, 32)
    )


def product_keys() -> Any:
    from product_key_memory import PKM

    return regress(PKM(dim=64, heads=2, dim_head=32, num_keys=16, topk=4), values(2, 32, 64))


def h_transformer() -> Any:
    from h_transformer_1d import HTransformer1D

    return language(
        HTransformer1D(
            num_tokens=64,
            dim=64,
            depth=2,
            causal=False,
            max_seq_len=64,
            heads=4,
            dim_head=16,
            block_size=16,
        )
    )


def mega() -> Any:
    from mega_pytorch import Mega

    return language(
        Mega(
            num_tokens=64,
            dim=64,
            depth=2,
            ema_heads=4,
            attn_dim_qk=16,
            attn_dim_value=64,
            laplacian_attn_fn=True,
        )
    )


def mamba() -> Any:
    from mambapy.mamba import Mamba, MambaConfig

    return regress(Mamba(MambaConfig(d_model=32, n_layers=2)), values(2, 32, 32))


def conformer() -> Any:
    from conformer import ConformerBlock

    return regress(
        ConformerBlock(
            dim=64, dim_head=16, heads=4, ff_mult=2, conv_expansion_factor=2, conv_kernel_size=15
        ),
        values(2, 48, 64),
    )


def soft_moe() -> Any:
    from soft_moe_pytorch import SoftMoE

    return regress(SoftMoE(dim=64, seq_len=32, num_experts=4), values(2, 32, 64))


def rotary() -> Any:
    from rotary_embedding_torch import RotaryEmbedding

    embedding, project = RotaryEmbedding(dim=16), nn.Linear(64, 192)
    model, x = nn.ModuleList([project, embedding]), values(2, 48, 64)

    def loss() -> Any:
        q, k, v = (t.view(2, 48, 4, 16).transpose(1, 2) for t in project(x).chunk(3, -1))
        q, k = embedding.rotate_queries_or_keys(q), embedding.rotate_queries_or_keys(k)
        return (F.scaled_dot_product_attention(q, k, v) ** 2).mean()

    return model, loss, None


def sparse_softmax() -> Any:
    from entmax import entmax15_loss

    model, x, y = mlp(), values(16, 64), tokens(10, 16)
    return model, lambda: entmax15_loss(model(x), y).mean(), None


def tagger() -> Any:
    from torchcrf import CRF

    crf, project = CRF(7, batch_first=True), nn.LSTM(16, 7, batch_first=True)
    model, x, y = nn.ModuleList([crf, project]), values(4, 20, 16), tokens(7, 4, 20)
    return model, lambda: -crf(project(x)[0], y, reduction="mean"), None


def tcn() -> Any:
    from pytorch_tcn import TCN

    return regress(
        TCN(num_inputs=8, num_channels=[16, 16], kernel_size=3, dropout=0.0), values(4, 8, 64)
    )


def n_beats() -> Any:
    from nbeats_pytorch.model import NBeatsNet

    return regress(
        NBeatsNet(device="cpu", forecast_length=5, backcast_length=20, hidden_layer_units=32),
        values(8, 20),
    )


def min_gru() -> Any:
    from minGRU_pytorch.minLM import minLM

    return language(minLM(num_tokens=64, dim=64, depth=2))


# ---- spiking, continuous and liquid networks, flows, processes


def spiking() -> Any:
    import snntorch as snn

    layers = nn.ModuleList(
        [nn.Linear(64, 32), snn.Leaky(beta=0.9), nn.Linear(32, 10), snn.Leaky(beta=0.9)]
    )
    x, y = values(8, 64), tokens(10, 8)

    def loss() -> Any:
        states, total = [layers[1].init_leaky(), layers[3].init_leaky()], 0.0
        for _ in range(10):
            spikes, states[0] = layers[1](layers[0](x), states[0])
            _, states[1] = layers[3](layers[2](spikes), states[1])
            total = total + F.cross_entropy(states[1], y)
        return total

    return layers, loss, None


def liquid() -> Any:
    from ncps.torch import CfC

    return regress(CfC(8, 16), values(4, 20, 8))


def neural_ode() -> Any:
    from torchdiffeq import odeint

    field, x, t = (
        nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2)),
        values(20, 2),
        torch.linspace(0.0, 1.0, 5),
    )
    return field, lambda: odeint(lambda _, y: field(y), x, t, method="rk4").abs().mean(), None


def adaptive_ode() -> Any:
    from torchdiffeq import odeint_adjoint

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))

        def forward(self, t: Any, y: Any) -> Any:
            return self.net(y**3)

    field, x, t = Field(), values(20, 2) * 0.5, torch.linspace(0.0, 1.0, 3)
    return field, lambda: odeint_adjoint(field, x, t, rtol=1e-3, atol=1e-3).abs().mean(), None


def controlled_ode() -> Any:
    import torchcde

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(8, 8 * 3)

        def forward(self, t: Any, z: Any) -> Any:
            return self.net(z).tanh().view(*z.shape, 3)

    field, z0, x = Field(), values(4, 8), values(4, 10, 3)
    path = torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(x))
    return (
        field,
        lambda: (
            torchcde.cdeint(X=path, z0=z0, func=field, t=path.interval, adjoint=False, method="rk4")
            ** 2
        ).mean(),
        None,
    )


def flow() -> Any:
    import zuko

    model, x, c = (
        zuko.flows.NSF(3, 5, transforms=2, hidden_features=(32, 32)),
        values(32, 3),
        values(32, 5),
    )
    return model, lambda: -model(c).log_prob(x).mean(), None


def masked_flow() -> Any:
    import zuko

    model, x = zuko.flows.MAF(4, transforms=3, hidden_features=(32, 32)), values(32, 4)
    return model, lambda: -model().log_prob(x).mean(), None


def gaussian_process() -> Any:
    import gpytorch

    x, y = torch.linspace(0, 1, 40), values(40)

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    model = Model(gpytorch.likelihoods.GaussianLikelihood())
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    return model, lambda: -mll(model(x), y), None


def transport() -> Any:
    from geomloss import SamplesLoss

    model, x, y = nn.Linear(2, 2), values(30, 2), values(40, 2)
    measure = SamplesLoss("sinkhorn", p=2, blur=0.5, backend="tensorized")
    return model, lambda: measure(model(x), y), None


def equivariant() -> Any:
    from egnn_pytorch import EGNN

    model, feats, coordinates = EGNN(dim=32), values(2, 16, 32), values(2, 16, 3)

    def loss() -> Any:
        out, positions = model(feats, coordinates)
        return (out**2).mean() + (positions**2).mean()

    return model, loss, None


def _graph() -> Any:
    source, target = tokens(30, 120), tokens(30, 120)
    return values(30, 16), torch.stack([source, target])


def graph_convolutions() -> Any:
    from torch_geometric.nn import GCNConv

    (x, edges), y = _graph(), tokens(4, 30)
    model = nn.ModuleList([GCNConv(16, 32), GCNConv(32, 4)])
    return model, lambda: F.cross_entropy(model[1](model[0](x, edges).relu(), edges), y), None


def graph_attention() -> Any:
    from torch_geometric.nn import GATConv, global_mean_pool

    x, edges = _graph()
    model, graphs = GATConv(16, 8, heads=4), torch.arange(30) // 10
    return model, lambda: (global_mean_pool(model(x, edges), graphs) ** 2).mean(), None


def hyperbolic() -> Any:
    import geoopt

    ball = geoopt.PoincareBall()
    points = geoopt.ManifoldParameter(ball.expmap0(values(20, 4) * 0.1), manifold=ball)
    model = nn.ParameterList([points])
    first, second = tokens(20, 40), tokens(20, 40)
    return (
        model,
        lambda: ball.dist(points[first], points[second]).mean(),
        geoopt.optim.RiemannianAdam([points], lr=1e-3),
    )


# ---- tables, recommendation, metric and meta learning, reinforcement learning, adapters


def factorization_machine() -> Any:
    from torchfm.model.fm import FactorizationMachineModel

    model, x, y = (
        FactorizationMachineModel([20, 30, 40], 8),
        tokens(20, 64, 3),
        values(64).sigmoid(),
    )
    return model, lambda: F.binary_cross_entropy(model(x), y), None


def deep_fm() -> Any:
    from torchfm.model.dfm import DeepFactorizationMachineModel

    model = DeepFactorizationMachineModel([20, 30, 40], 8, mlp_dims=(32, 16), dropout=0.0)
    x, y = tokens(20, 64, 3), values(64).sigmoid()
    return model, lambda: F.binary_cross_entropy(model(x), y), None


def tab_net() -> Any:
    from pytorch_tabnet.tab_network import TabNet

    matrix = torch.eye(12)
    model = TabNet(
        12, 3, n_d=8, n_a=8, n_steps=2, virtual_batch_size=16, group_attention_matrix=matrix
    )
    return classify_first(model, values(32, 12), 3)


def tab_transformer() -> Any:
    from tab_transformer_pytorch import FTTransformer

    model = FTTransformer(
        categories=(5, 6, 7), num_continuous=4, dim=16, depth=2, heads=2, dim_head=8
    )
    categories, numbers, y = tokens(5, 16, 3), values(16, 4), values(16, 1)
    return model, lambda: F.mse_loss(model(categories, numbers), y), None


def bayesian() -> Any:
    from blitz.losses import kl_divergence_from_nn
    from blitz.modules import BayesianLinear

    model = nn.Sequential(BayesianLinear(16, 32), nn.ReLU(), BayesianLinear(32, 1))
    x, y = values(16, 16), values(16, 1)
    return model, lambda: F.mse_loss(model(x), y) + 1e-3 * kl_divergence_from_nn(model), None


def triplets() -> Any:
    from pytorch_metric_learning.losses import TripletMarginLoss

    model, x, y, measure = mlp(), values(24, 64), tokens(4, 24), TripletMarginLoss()
    return model, lambda: measure(model(x), y), None


def contrastive() -> Any:
    from pytorch_metric_learning.losses import NTXentLoss

    model, x, y, measure = mlp(), values(24, 64), tokens(4, 24), NTXentLoss()
    return model, lambda: measure(model(x), y), None


def meta_learning() -> Any:
    import higher

    model, x, y = mlp(), values(16, 64), tokens(10, 16)
    inner = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss() -> Any:
        with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (copy, step):
            for _ in range(2):
                step.step(F.cross_entropy(copy(x), y))
            return F.cross_entropy(copy(x), y)

    return model, loss, None


def actor_critic() -> Any:
    import gymnasium
    from stable_baselines3.common.policies import ActorCriticPolicy

    box = gymnasium.spaces.Box(-1.0, 1.0, (8,))
    model = ActorCriticPolicy(box, gymnasium.spaces.Discrete(4), lambda _: 1e-3)
    x, actions, returns = values(64, 8), tokens(4, 64), values(64)

    def loss() -> Any:
        value, log_prob, entropy = model.evaluate_actions(x, actions)
        advantage = returns - value.detach().flatten()
        return (
            F.mse_loss(value.flatten(), returns)
            - (advantage * log_prob).mean()
            - 0.01 * entropy.mean()
        )

    return model, loss, None


def lora() -> Any:
    import loralib

    model = nn.Sequential(loralib.Linear(64, 128, r=4), nn.ReLU(), loralib.Linear(128, 10, r=4))
    loralib.mark_only_lora_as_trainable(model)
    return classify(model, values(16, 64), 10)


def lora_of_convolutions() -> Any:
    import loralib

    model = nn.Sequential(
        loralib.Conv2d(3, 16, 3, r=4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        loralib.MergedLinear(16, 30, r=4, enable_lora=[True, False, True]), nn.Linear(30, 10),
    )  # fmt: skip
    loralib.mark_only_lora_as_trainable(model, bias="lora_only")
    return classify(model, images(4, 16), 10)


# ---- optimizers


def lion() -> Any:
    from lion_pytorch import Lion

    return trained(mlp(), lambda p: Lion(p, lr=1e-3))


def adam_atan2() -> Any:
    from adam_atan2_pytorch import AdamAtan2

    return trained(cnn(), lambda p: AdamAtan2(p, lr=1e-3))


def schedule_free() -> Any:
    from schedulefree import AdamWScheduleFree

    model, loss, optimizer = trained(mlp(), lambda p: AdamWScheduleFree(p, lr=1e-3))
    optimizer.train()
    return model, loss, optimizer


def prodigy() -> Any:
    from prodigyopt import Prodigy

    return trained(mlp(), Prodigy)


def mad_grad() -> Any:
    from madgrad import MADGRAD

    return trained(cnn(), lambda p: MADGRAD(p, lr=1e-3))


def d_adaptation() -> Any:
    from dadaptation import DAdaptAdam

    return trained(mlp(), DAdaptAdam)


def came() -> Any:
    from came_pytorch import CAME

    return trained(mlp(), lambda p: CAME(p, lr=1e-3))


def _of_collection(name: str) -> Any:
    def build() -> Any:
        import pytorch_optimizer

        return trained(mlp(), lambda p: getattr(pytorch_optimizer, name)(list(p), lr=1e-3))

    return build


def _of_torch_optimizer(name: str) -> Any:
    def build() -> Any:
        import torch_optimizer

        return trained(cnn(), lambda p: getattr(torch_optimizer, name)(p, lr=1e-3))

    return build


PROGRAMS: dict[str, Any] = {
    f.__name__: f
    for f in (
        vit, simple_vit, deep_vit, cait, cct, levit, cvt, nest, mobile_vit, efficientnet, mlp_mixer, g_mlp,
        res_mlp, glom, halonet, lambda_network, bottleneck_transformer, perceiver, siren, ssim, vq_vae, fsq, gpt, bert,
        performer, linformer, reformer, sinkhorn, linear_attention, local_attention, nystrom, axial, product_keys,
        h_transformer, mega, mamba, conformer, soft_moe, rotary, sparse_softmax, tagger, tcn, n_beats, spiking, liquid,
        neural_ode, adaptive_ode, controlled_ode, flow, masked_flow, gaussian_process, transport, equivariant,
        factorization_machine, deep_fm, triplets, contrastive, meta_learning, actor_critic, lora, lion, adam_atan2,
        schedule_free, prodigy, diffusion, diffusion_of_sequences, min_gru,
        graph_convolutions, graph_attention, hyperbolic, tab_net, tab_transformer, bayesian,
        lora_of_convolutions, mad_grad, d_adaptation, came,
    )
}  # fmt: skip
PROGRAMS.update(
    {name.lower(): _of_collection(name) for name in ("SOAP", "Shampoo", "AdEMAMix", "StableAdamW")}
)
PROGRAMS.update(
    {name.lower(): _of_torch_optimizer(name) for name in ("AdamP", "Lamb", "Yogi", "DiffGrad")}
)


# ---- equal weights and equal random numbers


def equalize(model: Any, path: str) -> None:
    """Give both sides the same parameters and buffers; dropout is 0."""
    for layer in model.modules():
        for name in ("p", "dropout"):
            if isinstance(getattr(layer, name, None), float) and "Drop" in type(layer).__name__:
                setattr(layer, name, 0.0)
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    if os.path.exists(path):
        with np.load(path) as file, torch.no_grad():
            assert set(file) == set(tensors), set(file) ^ set(tensors)
            for name, tensor in tensors.items():
                tensor.copy_(torch.from_numpy(file[name]))
    else:
        np.savez(path, **{name: tensor.detach().numpy() for name, tensor in tensors.items()})


def share_randomness() -> None:
    """Draw random numbers from NumPy."""
    draw = np.random.default_rng(1)

    def shape_of(sizes: tuple[Any, ...]) -> tuple[int, ...]:
        return (
            tuple(sizes[0]) if sizes and isinstance(sizes[0], (tuple, list, torch.Size)) else sizes
        )

    def tensor(array: Any, dtype: Any = None, **unused: Any) -> Any:
        result = torch.from_numpy(np.asarray(array))
        return result.to(dtype or (torch.float32 if result.is_floating_point() else result.dtype))

    def filled(tensor_: Any, array: Any) -> Any:
        with torch.no_grad():
            return tensor_.copy_(torch.from_numpy(np.asarray(array)))

    torch.randn = lambda *s, **k: tensor(draw.standard_normal(shape_of(s)), k.get("dtype"))
    torch.rand = lambda *s, **k: tensor(draw.random(shape_of(s)), k.get("dtype"))
    torch.randn_like = lambda x, **k: tensor(draw.standard_normal(tuple(x.shape)), x.dtype)
    torch.rand_like = lambda x, **k: tensor(draw.random(tuple(x.shape)), x.dtype)
    torch.randperm = lambda n, **k: tensor(draw.permutation(n))

    def randint(low: int, high: Any = None, size: Any = None, **k: Any) -> Any:
        if size is None:
            low, high, size = 0, low, high
        return tensor(draw.integers(low, high, tuple(size)), k.get("dtype"))

    torch.randint = randint
    for name, array in {
        "normal_": lambda x, mean=0.0, std=1.0, **k: draw.normal(mean, std, tuple(x.shape)),
        "uniform_": lambda x, low=0.0, high=1.0, **k: draw.uniform(low, high, tuple(x.shape)),
        "random_": lambda x, low=0, high=100, **k: draw.integers(low, high, tuple(x.shape)),
    }.items():
        setattr(torch.Tensor, name, lambda x, *a, _array=array, **k: filled(x, _array(x, *a, **k)))


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    np.random.seed(0)
    model, loss, optimizer = PROGRAMS[sys.argv[1]]()
    equalize(model, sys.argv[2])
    share_randomness()
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = optimizer or torch.optim.AdamW(parameters, lr=1e-3)

    def step() -> float:
        value = loss()
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        return float(value.detach())

    print(json.dumps([step() for _ in range(STEPS)]), flush=True)
    for line in sys.stdin:
        start = time.process_time()
        for _ in range(int(line)):
            step()
        print(time.process_time() - start, flush=True)


if __name__ == "__main__":
    main()
